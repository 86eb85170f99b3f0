// The page's one live wire: hands Panel's model to the page and draws nothing itself.
export function render({ model }) {
  window.kv.connect(model)
}
