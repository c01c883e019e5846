"""How fast is one build against another: randomised pairs, log ratios, intervals, verdicts."""
