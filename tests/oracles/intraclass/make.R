# The six intraclass correlations and their F intervals of every panel in input.csv, with psych.
suppressMessages(library(psych))
d <- read.csv("input.csv")
forms <- c("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k")
out <- NULL
for (p in unique(d$panel)) {
  x <- d[d$panel == p, ]
  table <- matrix(x$rating, nrow = max(x$unit) + 1, byrow = TRUE)
  r <- ICC(table, lmer = FALSE)$results
  out <- rbind(out, data.frame(panel = p, form = forms, icc = r$ICC, low = r[["lower bound"]], high = r[["upper bound"]]))
}
for (v in c("icc", "low", "high")) out[[v]] <- formatC(out[[v]], digits = 17, format = "g")
write.csv(out, "expected.csv", row.names = FALSE, quote = FALSE)
