# Mixed models of every panel in input.csv by restricted maximum likelihood, with lme4 and lmerTest.
suppressMessages(library(lmerTest))
d <- read.csv("input.csv", colClasses = c(item = "character", system = "character", rater = "character"))
models <- read.csv("models.csv", stringsAsFactors = FALSE)
# Closer to the optimum than the defaults, which stop 1e-5 to 1e-3 short.
control <- lmerControl(
  optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 100000), calc.derivs = FALSE,
  check.nobs.vs.nlev = "ignore", check.conv.singular = "ignore"
)
out <- NULL
add <- function(panel, model, quantity, value) {
  out <<- rbind(out, data.frame(panel, model, quantity, program = "lme4", value = as.numeric(value)))
}
for (k in seq_len(nrow(models))) {
  p <- models$panel[k]
  name <- models$model[k]
  x <- d[d$panel == p, ]
  for (v in c("item", "system", "rater")) x[[v]] <- factor(x[[v]])
  m <- suppressMessages(lmer(as.formula(models$formula[k]), x, REML = TRUE, control = control))
  v <- as.data.frame(VarCorr(m))
  groups <- sub("^Residual$", "residual", v$grp)
  for (i in seq_along(groups)) add(p, name, paste0("variance ", groups[i]), v$vcov[i])
  add(p, name, "criterion", REMLcrit(m))
  for (i in seq_along(fixef(m))) {
    add(p, name, paste0("fixed ", i - 1), fixef(m)[i])
    add(p, name, paste0("se ", i - 1), sqrt(diag(as.matrix(vcov(m))))[i])
  }
  n <- length(fixef(m))
  if (n == 1) next
  for (a in 1:(n - 1)) for (b in (a + 1):n) {
    l <- numeric(n)
    if (a > 1) l[a] <- 1
    l[b] <- -1
    t <- contest1D(m, l)
    pair <- paste0(a - 1, "-", b - 1)
    add(p, name, paste0("estimate ", pair), t$Estimate)
    add(p, name, paste0("se ", pair), t[["Std. Error"]])
    add(p, name, paste0("df ", pair), t$df)
  }
  joint <- contestMD(m, diag(n)[-1, , drop = FALSE])
  add(p, name, "F", joint[["F value"]])
  add(p, name, "df1", joint$NumDF)
  add(p, name, "df2", joint$DenDF)
}
out$value <- formatC(out$value, digits = 15, format = "g")
write.csv(out, "expected.csv", row.names = FALSE, quote = FALSE)
cat("R", as.character(getRversion()), "lme4", as.character(packageVersion("lme4")),
    "lmerTest", as.character(packageVersion("lmerTest")), "\n")
