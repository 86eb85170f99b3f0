"""The sentences the page offers to click."""

EXAMPLES = (
    "The black cat sees a white bird.",
    "I love you",
    "The cat sat on the mat",
    "The quick brown fox jumps over the lazy dog",
    "My dog is very happy!",
    "She does not eat the red apple",
    "We don't like pineapple pizza 🍕",
)
