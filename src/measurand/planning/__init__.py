"""What a panel would take: layouts, their costs and precision, and the next sample drawn."""
