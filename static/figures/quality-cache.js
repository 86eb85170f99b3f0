// Accuracy of three seeds of each variant against the numbers a word leaves in the cache.
kv.figure("quality-cache", (() => {
  const dots = (variant, kind, apart) => variant[kind].map((x, i) => ({ x, y: [variant.row, apart * (1 - i)], label: variant.label, seed: variant.seeds[i] }))
  const columnsOf = (rows) => Object.fromEntries(["x", "y", "label", "seed"].map((name) => [name, rows.map((row) => row[name])]))
  const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
  const columns = ({ spec, p }) => {
    const { variants, apart } = spec.data
    return {
      seeds: columnsOf(variants.flatMap((v) => dots(v, p.kind, apart))),
      picked: columnsOf(dots(variants.find((v) => v.name === p.variant), p.kind, apart)),
      medians: { x: variants.map((v) => middle(v[p.kind])), y: variants.map((v) => v.row) },
    }
  }
  const status = ({ spec, p, kit }) => {
    const v = spec.data.variants.find((one) => one.name === p.variant)
    const sorted = [...v[p.kind]].sort((a, b) => a - b)
    return `${v.label} (filled): ${v.numbers} numbers a word; seeds at ${sorted.map((x) => kit.percent(x)).join(", ")} exactly right on ${kit.whole(v.sentences)} unseen sentences after ${kit.whole(v.steps)} steps.`
  }
  const table = ({ spec, p, kit }) => ({
    caption: `Exactly right on unseen test sentences (${p.kind === "grammar" ? "of the grammar" : "with unknown words"})`,
    head: ["variant", "numbers a word", ...spec.data.variants[0].seeds.map((s) => `seed ${s}`), "median", "spread"],
    rows: spec.data.variants.map((v) => [v.label, v.numbers, ...v[p.kind].map((x) => kit.percent(x)), kit.percent(middle(v[p.kind])), kit.percent(Math.max(...v[p.kind]) - Math.min(...v[p.kind]))]),
  })
  return { columns, status, table }
})())
