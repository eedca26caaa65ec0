# Random slopes of rating on length by rater, restricted maximum likelihood, with lme4 and lmerTest.
# Lengths are in units of their own spread around their mean, as the slope without a correlation depends on the origin.
suppressMessages(library(lmerTest))
d <- read.csv("input.csv", colClasses = c(item = "character", system = "character", rater = "character"))
formulas <- c(
  "judgement" = "rating ~ x + (1|item) + (1|rater)",
  "judgement+rater_slope" = "rating ~ x + (1|item) + (1|rater) + (0+x|rater)",
  "full+rater_slope" = paste(
    "rating ~ x + (1|item) + (1|system) + (1|rater) + (1|item:system) + (1|item:rater) + (1|system:rater)",
    "+ (0+x|rater)"
  ),
  "judgement+rater_slope_within_item" = "rating ~ w + (1|item) + (1|rater) + (0+w|rater)",
  "judgement+rater_slope_within_system" = "rating ~ x + system + (1|item) + (1|rater) + (0+x|rater)"
)
control <- lmerControl(
  optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 100000), calc.derivs = FALSE,
  check.nobs.vs.nlev = "ignore", check.conv.singular = "ignore"
)
spread <- function(v) sqrt(mean((v - mean(v))^2))
out <- NULL
for (p in unique(d$panel)) {
  z <- d[d$panel == p, ]
  for (v in c("item", "system", "rater")) z[[v]] <- factor(z[[v]])
  cells <- unique(z[, c("item", "system", "length")])
  within <- z$length - tapply(cells$length, cells$item, mean)[as.character(z$item)]
  unit <- c(x = spread(z$length), w = spread(within))
  z$x <- (z$length - mean(z$length)) / unit["x"]
  z$w <- (within - mean(within)) / unit["w"]
  for (name in names(formulas)) {
    m <- suppressMessages(lmer(as.formula(formulas[name]), z, REML = TRUE, control = control))
    at <- names(fixef(m))[2]
    t <- coef(summary(m))[at, ]
    v <- as.data.frame(VarCorr(m))
    slopes <- v$sdcor[!is.na(v$var1) & v$var1 == at]
    values <- c(slope = t[["Estimate"]] / unit[[at]], se = t[["Std. Error"]] / unit[[at]], df = t[["df"]],
                p = t[["Pr(>|t|)"]], criterion = REMLcrit(m))
    if (length(slopes)) values["sd"] <- slopes / unit[[at]]
    out <- rbind(out, data.frame(panel = p, model = name, quantity = names(values), value = values))
  }
}
out$value <- formatC(out$value, digits = 15, format = "g")
write.csv(out, "expected.csv", row.names = FALSE, quote = FALSE)
cat("R", as.character(getRversion()), "lme4", as.character(packageVersion("lme4")),
    "lmerTest", as.character(packageVersion("lmerTest")), "\n")
