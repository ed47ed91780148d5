"""Writes the standard prompt set of `shadow-perfgate`; the same text every time, so its hash can be pinned.

Decode-heavy prompts are short tasks with long answers; prefill-heavy ones are long records with one
short question.
No two begin alike, so that a server's prefix cache has nothing to reuse. Usage: make_prompts.py FOLDER
"""

import json
import random
import sys
from pathlib import Path

TASKS = (
    "Describe how a bicycle gear works to someone who has never seen one.",
    "Write a letter from a lighthouse keeper to the crew that will replace him.",
    "List the steps for baking bread without an oven and explain each step.",
    "Explain why the sky turns red in the evening, then why it is blue at noon.",
    "Compare travelling by night train with flying: cost, comfort, time and climate.",
    "Plan a week of meals for two people who dislike repeating a dish.",
    "Tell a story in which a clock and a river disagree about time.",
    "Give an introduction to sorting algorithms with an example for each.",
    "How would you organise a small library of four hundred books? Argue your choice.",
    "Summarise the rules of an invented board game for three players.",
    "Discuss whether a town should close its centre to cars on Sundays.",
    "Draft release notes for version two of a note-taking program.",
    "Translate the idea of recursion into a scene with mirrors.",
    "What should a first-aid box for a mountain hut contain, and why?",
    "Develop an argument for teaching geometry before algebra.",
    "Outline a documentary about the people who repair undersea cables.",
    "Imagine a market on another planet and describe five of its stalls.",
    "Suggest names for a bakery and explain the thought behind every name.",
    "Review a fictional concert where half of the instruments were broken.",
    "Prepare ten interview questions for a gardener, with what you hope to hear.",
    "Sketch the history of writing tools from the reed to the keyboard.",
    "Explain to a child how a lock on a canal lifts a boat.",
    "Propose an experiment to find out whether plants prefer silence.",
    "Write the minutes of a meeting in which nothing was decided.",
    "Contrast three ways of storing heat through the winter.",
    "Define fairness in a queue and test the definition on four cases.",
    "Invent a proverb and tell the story from which it came.",
    "Guide a visitor through a museum of ordinary kitchen tools.",
    "Estimate how many piano tuners a city of a million people needs; show the reasoning.",
    "Narrate the last day of a glacier from the point of view of a pebble.",
    "Recommend a route through an old harbour town on a rainy afternoon.",
    "Break the task of moving house into stages with a check list for each.",
)
PLACES = "Alder Bay, Brinkholm, Corvale, Dunmere, Eastfell, Farrow, Glenhurst, Holloway, Istria"
GOODS = "copper wire, oat flour, pump seals, glass jars, lamp oil, roof tiles, blue paint, wool felt, salt"
ACTS = "received, counted, returned, repaired, sold, set aside, weighed again, sent on, found damaged"
VOICES = "the clerk, the driver, a night guard, the apprentice, two porters, the owner, the bookkeeper"
REMARKS = (
    "and nobody asked for a receipt",
    "because the road was closed after the storm",
    "before the bell rang for the second shift",
    "although the list from the day before said otherwise",
    "so the remaining shelves were moved to the north wall",
    "which the scales at the gate did not confirm",
)
QUESTIONS = (
    "Which place is named most often?",
    "What was found damaged first?",
    "Who signed the last line?",
    "How many lines mention salt?",
)


def record(rng: random.Random, number: int) -> str:
    """Return one line of the invented warehouse's journal."""
    place, good = rng.choice(PLACES.split(", ")), rng.choice(GOODS.split(", "))
    act, voice, remark = rng.choice(ACTS.split(", ")), rng.choice(VOICES.split(", ")), rng.choice(REMARKS)
    hour = f"{rng.randrange(6, 22):02d}:{rng.randrange(60):02d}"
    return f"{number}. {hour} {place}: {voice} {act} {rng.randrange(2, 400)} units of {good}, {remark}."


def journal(index: int, size: int = 4000) -> str:
    """Return a journal of at least `size` characters with a beginning of its own and a question."""
    rng = random.Random(f"journal {index}")
    page, place, voice = (
        rng.randrange(1000, 9999),
        rng.choice(PLACES.split(", ")),
        rng.choice(VOICES.split(", ")),
    )
    lines = [f"{page} is the page on which {voice} began journal {chr(ord('A') + index)} at {place}."]
    while sum(map(len, lines)) < size:
        lines.append(record(rng, len(lines)))
    return "\n".join([*lines, f"Question: {QUESTIONS[index % len(QUESTIONS)]}"])


def main() -> None:
    """Write both sets as JSON lines into the folder given."""
    folder = Path(sys.argv[1])
    sets = {"decode-heavy": TASKS, "prefill-heavy": [journal(index) for index in range(16)]}
    for name, texts in sets.items():
        lines = [json.dumps({"id": f"{name}-{i:02d}", "prompt": text}) for i, text in enumerate(texts)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
