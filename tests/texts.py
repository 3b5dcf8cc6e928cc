"""Made-up text with the marks of real translations: wrong words, and sentences of all lengths."""

import random

TEXT = "der alte Mann kauft heute ein rotes Auto , und die Frau liest morgens daheim ein Buch ."
WORDS = TEXT.split()


def sentences(seed: int, count: int = 60) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(4, 14))) for _ in range(count)]


def damaged(lines: list[str], rate: float, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choice(WORDS) if rng.random() < rate else word for word in line.split()) for line in lines]


REFERENCES = [sentences(0), damaged(sentences(0), 0.3, 1)]
GOOD, POOR = damaged(REFERENCES[0], 0.2, 2), damaged(REFERENCES[0], 0.6, 3)
CLOSE = damaged(REFERENCES[0], 0.23, 8)
