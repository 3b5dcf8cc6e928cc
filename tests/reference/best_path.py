"""The operators of the best alignment, found backwards through the table of Algorithm 1."""

from tests.reference.axe import table_of_algorithm_1

ALIGN, SKIP_PREDICTION, SKIP_TARGET = "align", "skip_prediction", "skip_target"
Step = tuple[str, int, int]  # operator, target and prediction, both counted from 1


def best_path(
    log_probs: list[list[float]], targets: list[int], blank: int, delta: float, first_column: str = "paper"
) -> list[Step]:
    a = table_of_algorithm_1(log_probs, targets, blank, delta, first_column)
    i, j = len(targets), len(log_probs)
    path: list[Step] = []
    while i or j:
        prediction = log_probs[max(j, 1) - 1]  # targets before the first prediction are paid for at P_1
        costs = {}
        if i and j:
            costs[ALIGN] = a[i - 1][j - 1] - prediction[targets[i - 1]]
        if j:
            costs[SKIP_PREDICTION] = a[i][j - 1] - prediction[blank]
        if i:
            costs[SKIP_TARGET] = a[i - 1][j] - delta * prediction[targets[i - 1]]
        operator = min(costs, key=lambda name: costs[name])
        path.append((operator, i, max(j, 1)))
        i, j = i - (operator != SKIP_PREDICTION), j - (operator != SKIP_TARGET)
    return path[::-1]
