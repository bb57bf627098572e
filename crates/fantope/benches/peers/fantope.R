# Times one installed peer on one instance of the sparse problem, on one thread; fantope.py calls it.
#
# usage: Rscript fantope.R PEER S.npy RANK PENALTY BOUND EIGENGAP TARGET BUDGET REPEATS
#   PEER     fps (Vu, Cho, Lei & Rohe 2013; ADMM) or gradfps (Qiu, Lei & Roeder 2022; proximal-proximal gradient)
#   BOUND    certified upper bound of the optimum, from which every gap is measured
#   EIGENGAP that of the covariance behind S: the scale of gradfps's step
#   TARGET   certified relative gap that is asked for, of the feasible matrix nearest to their X
#   BUDGET   CPU seconds after which the search for better settings ends
#
# Prints one JSON document. Seconds are CPU seconds (user and system) of the call alone, the least of REPEATS.

main <- function(arguments) {
  peer <- arguments[1]
  if (!peer %in% c("fps", "gradfps")) stop("unknown peer '", peer, "': use fps or gradfps")
  if (!requireNamespace(peer, quietly = TRUE)) {
    message("skipped ", peer, ": the R package is not installed")
    return(print_json(list(peer = peer, installed = FALSE)))
  }
  numbers <- as.numeric(arguments[3:9])
  problem <- list(matrix = read_npy(arguments[2]), rank = as.integer(numbers[1]), penalty = numbers[2],
                  bound = numbers[3], eigengap = numbers[4], target = numbers[5], budget = numbers[6])
  search <- if (peer == "fps") search_fps else search_gradfps
  found <- search(problem)
  runs <- vapply(seq_len(numbers[7]), function(index) measured(found$call)$seconds, 0)
  feasible <- project(found$projection, problem$rank)
  print_json(c(list(peer = peer, installed = TRUE, seconds = min(runs, found$seconds)),
               found[c("reached", "iterations", "settings", "gap")],
               list(gap_of_x = relative_gap(problem, found$projection),
                    trace_error = sum(diag(found$projection)) - problem$rank,
                    lowest_eigenvalue = feasible$range[1], highest_eigenvalue = feasible$range[2],
                    distance_to_feasible = norm(feasible$nearest - found$projection, "F")),
               found$extra))
}

# Default settings first; then a stricter test and more iterations, until the gap is small enough.
search_fps <- function(problem) {
  attempt <- function(tolerance, iterations) {
    call <- function() {
      fps::fps(problem$matrix, ndim = problem$rank, lambda = problem$penalty, maxiter = iterations,
               tolerance = tolerance)
    }
    run <- measured(call)
    judged(problem, run$value$projection[[1]], call = call, seconds = run$seconds, iterations = run$value$niter[1],
           settings = sprintf("tolerance %g", tolerance))
  }
  first <- best <- attempt(1e-3, 100L)
  spent <- best$seconds
  tolerance <- 1e-3
  while (!best$reached && spent < problem$budget) {
    tolerance <- tolerance / 4
    best <- attempt(tolerance, 10000L)
    spent <- spent + best$seconds
  }
  best$extra <- list(default_seconds = first$seconds, default_iterations = first$iterations, default_gap = first$gap,
                     default_gap_of_x = relative_gap(problem, first$projection))
  best
}

# Its default step suits matrices of norm 10 or more, its own test compares successive subspaces, and on hard instances
# most of its time goes into eigenvectors whose number can be limited. So: steps in units of 1 / eigengap and several
# limits; for each, more and more iterations, the test switched off, until the gap is small enough or other settings
# were faster. The search is not part of the time.
search_gradfps <- function(problem) {
  best <- NULL
  spent <- 0
  for (limit in c(5, 10, 100)) {
    for (step in c(0.16, 0.32, 0.64, 0.08, 0.04) / problem$eigengap) {
      iterations <- 6L
      repeat {
        found <- attempt_gradfps(problem, step, limit, iterations)
        spent <- spent + found$seconds
        if (better(found, best)) best <- found
        if (spent > problem$budget) return(best)
        if (found$reached || (best$reached && found$seconds > best$seconds)) break
        iterations <- as.integer(max(iterations + 2, round(1.2 * iterations)))
      }
    }
  }
  best
}

attempt_gradfps <- function(problem, step, limit, iterations) {
  call <- function() {
    gradfps::gradfps_prox(problem$matrix, problem$rank, problem$penalty, lr = step, maxiter = iterations,
                          control = list(eps_abs = 0, eps_rel = 0, fan_maxinc = limit))
  }
  run <- measured(call)
  judged(problem, run$value$projection, call = call, seconds = run$seconds, iterations = iterations,
         settings = sprintf("step %.3g / eigengap, fan_maxinc %d", step * problem$eigengap, limit))
}

# Accurate before inaccurate, then fast before slow; among inaccurate ones, the smaller gap.
better <- function(found, best) {
  if (is.null(best)) return(TRUE)
  if (found$reached != best$reached) return(found$reached)
  if (found$reached) return(found$seconds < best$seconds)
  found$gap < best$gap
}

# As the solver defines it (`FantopeSolution::relative_gap`). Of an X off the Fantope it is no certificate, and can be
# negative.
relative_gap <- function(problem, x) {
  objective <- sum(problem$matrix * x) - problem$penalty * sum(abs(x))
  centre <- problem$rank * mean(diag(problem$matrix))
  (problem$bound - objective) / max(abs(objective - centre), problem$rank * problem$penalty)
}

# With the certified gap: an X off the Fantope can have the optimal objective by chance, so the nearest feasible matrix
# is the answer. Projecting is not part of the time.
judged <- function(problem, x, ...) {
  gap <- relative_gap(problem, project(x, problem$rank)$nearest)
  list(projection = x, gap = gap, reached = gap <= problem$target, ...)
}

# The nearest matrix with 0 <= X <= I and tr X = rank, and the range of the eigenvalues before.
project <- function(x, rank) {
  eigen <- eigen((x + t(x)) / 2, symmetric = TRUE)
  excess <- function(shift) sum(pmin(pmax(eigen$values - shift, 0), 1)) - rank
  shift <- uniroot(excess, range(eigen$values) + c(-1, 0), tol = 1e-15)$root
  weights <- pmin(pmax(eigen$values - shift, 0), 1)
  vectors <- eigen$vectors[, weights > 0, drop = FALSE]
  list(nearest = vectors %*% (weights[weights > 0] * t(vectors)), range = range(eigen$values))
}

measured <- function(call) {
  gc(FALSE)
  before <- proc.time()
  value <- call()
  list(value = value, seconds = sum((proc.time() - before)[1:2]))
}

# A symmetric matrix of f4 or f8; its order does not matter.
read_npy <- function(path) {
  file <- file(path, "rb")
  on.exit(close(file))
  version <- as.integer(readBin(file, "raw", 8)[7])
  length <- readBin(file, "integer", 1, size = if (version == 1) 2 else 4, signed = version > 1, endian = "little")
  header <- rawToChar(readBin(file, "raw", length))
  shape <- sub(".*'shape': *\\(([^)]*)\\).*", "\\1", header)
  shape <- as.integer(regmatches(shape, gregexpr("[0-9]+", shape))[[1]])
  if (length(shape) != 2 || shape[1] != shape[2]) stop(path, ": not a square matrix")
  size <- if (grepl("<f8", header)) 8 else if (grepl("<f4", header)) 4 else stop(path, ": not floating point")
  matrix(readBin(file, "double", prod(shape), size = size, endian = "little"), shape[1])
}

print_json <- function(fields) {
  value <- function(x) {
    if (is.character(x)) sprintf("\"%s\"", x) else if (is.logical(x)) tolower(x) else sprintf("%.10g", x)
  }
  pairs <- sprintf("\"%s\": %s", names(fields), vapply(fields, value, ""))
  cat("{", paste(pairs, collapse = ", "), "}\n", sep = "")
}

main(commandArgs(trailingOnly = TRUE))
