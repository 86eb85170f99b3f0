// From a step's words to its figure and back, for who walks by keyboard: on the way there the Tab
// key would pass all the steps that follow.
(() => {
  const targets = {
    figure: () => document.querySelector(".scrolly .stage-canvas [tabindex='0']") ?? document.querySelector(".scrolly .stage-controls :is(button, input, select)"),
    text: () => document.querySelector(".step.on h2"),
  }
  document.addEventListener("click", (event) => {
    const asked = event.target.closest?.("[data-across]")
    if (asked) targets[asked.dataset.across]()?.focus({ preventScroll: true })
  })
})()
