# Fits a panel that benchmarks/mixed.py wrote, with the test of the systems where there are any, and prints a line of
# JSON: CPU seconds of each run without reading, the variance components, versions.
# Run:  Rscript lme4.R panel.csv formula runs
suppressPackageStartupMessages(library(lmerTest))
arguments <- commandArgs(trailingOnly = TRUE)
panel <- read.csv(arguments[1], stringsAsFactors = TRUE)
formula <- as.formula(arguments[2])
seconds <- c()
for (run in seq_len(as.integer(arguments[3]))) {
  start <- proc.time()
  # The defaults, and no check of the gradient, which the other programs do not make.
  fit <- suppressMessages(lmer(formula, panel, control = lmerControl(calc.derivs = FALSE)))
  if ("system" %in% names(panel)) tested <- suppressMessages(anova(fit))
  took <- proc.time() - start
  seconds <- c(seconds, took[["user.self"]] + took[["sys.self"]])
}
parts <- as.data.frame(VarCorr(fit))
cat(sprintf(
  '{"seconds": [%s], "components": {%s}, "versions": {"R": "%s", "lme4": "%s", "lmerTest": "%s"}}\n',
  paste(seconds, collapse = ", "),
  paste(sprintf('"%s": %.17g', parts$grp, parts$vcov), collapse = ", "),
  getRversion(), packageVersion("lme4"), packageVersion("lmerTest")
))
