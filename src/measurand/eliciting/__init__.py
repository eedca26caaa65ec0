"""Items to answers: systems are asked under declared readouts, and every answer proves how it was obtained."""
