# R's value of every line of input.csv.
d <- read.csv("input.csv")
value <- function(f, x, a, b) switch(f,
  f_upper_tail = pf(x, a, b, lower.tail = FALSE),
  f_quantile = qf(x, a, b),
  t_two_sided = 2 * pt(-abs(x), a),
  t_factor = qt((1 + x) / 2, a),
  chi_square_quantile = qchisq(x, a),
  clopper_pearson_upper = binom.test(a, b, conf.level = x)$conf.int[2])
d$value <- formatC(mapply(value, d$function., d$x, d$a, d$b), digits = 17, format = "g")
names(d)[1] <- "function"
write.csv(d, "expected.csv", row.names = FALSE, quote = FALSE, na = "")
