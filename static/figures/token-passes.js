// A prompt of p and an answer of n: positions computed with and without the cache.
kv.figure("token-passes", (() => {
  const pick = ({ spec, p }) => ({ prompt: spec.data.prompts[p.prompt], answer: spec.data.answers[p.answer] })
  const of = ({ spec, p }, name) => spec.data[name][p.prompt][p.answer]
  const columns = ({ spec, p }) => ({
    naive: { x: spec.data.answers, y: spec.data.naive[p.prompt] },
    cached: { x: spec.data.answers, y: spec.data.cached[p.prompt] },
    here: { x: [spec.data.answers[p.answer], spec.data.answers[p.answer]], y: [spec.data.naive[p.prompt][p.answer], spec.data.cached[p.prompt][p.answer]] },
  })
  const status = (ctx) => {
    const { prompt, answer } = pick(ctx)
    const { kit } = ctx
    return `A prompt of ${kit.whole(prompt)} and ${kit.whole(answer)} new tokens: ${kit.whole(of(ctx, "naive"))} positions without a cache, ${kit.whole(of(ctx, "cached"))} with one. Attention scores a layer and head: ${kit.whole(of(ctx, "naive_scores"))} against ${kit.whole(of(ctx, "cached_scores"))}.`
  }
  const table = (ctx) => {
    const { prompt } = pick(ctx)
    const { spec, p, kit } = ctx
    return { caption: `Prompt of ${kit.whole(prompt)} tokens`, head: ["new tokens", "positions without", "positions with", "scores without", "scores with"],
      rows: spec.data.answers.map((n, i) => [kit.whole(n), ...["naive", "cached", "naive_scores", "cached_scores"].map((name) => kit.whole(spec.data[name][p.prompt][i]))]) }
  }
  return { columns, status, table }
})())
