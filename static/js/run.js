// A run as it arrived: words, live numbers, and arrays that are read by name and index.
(() => {
  const decode = (base64) => {
    const binary = atob(base64)
    const buffer = new Uint8Array(binary.length)
    for (let i = 0; i < binary.length; i++) buffer[i] = binary.charCodeAt(i)
    return new Float64Array(buffer.buffer)
  }

  /** at("self.k", t, layer, head, row) -> the number, or the last axis as an array when one index is left out. */
  kv.Run = class {
    constructor(payload, ...blocks) {
      this.blocks = {}
      this.parts = new Set()
      this.answers = kv.run?.text === payload.text ? kv.run.answers : {}
      for (const block of [payload, ...blocks]) this.add(block)
    }
    has(part) { return this.parts.has(part) }
    addPart(part, payload) { this.add(payload); this.parts.add(part) }
    /** Take over a payload's plain fields and its block of numbers. */
    add({ arrays = {}, data = "", ...fields }) {
      Object.assign(this, fields)
      const numbers = decode(data)
      for (const [name, { offset, shape }] of Object.entries(arrays)) this.blocks[name] = { offset, shape, numbers }
    }
    /** The word written at step t, as the prose says it. */
    shown(t) { return this.words[t] === "⟨end⟩" ? "the end" : `“${this.words[t]}”` }
    entry(name) {
      const entry = this.blocks[name]
      if (!entry) throw new Error(`the run holds no array called ${name}`)
      return entry
    }
    shape(name) { return this.entry(name).shape }
    at(name, ...index) {
      const { shape, offset: start, numbers } = this.entry(name)
      let offset = 0
      index.forEach((i, axis) => {
        if (!(i >= 0 && i < shape[axis])) throw new Error(`${name}: index ${i} on axis ${axis} of ${shape[axis]}`)
        offset = offset * shape[axis] + i
      })
      if (index.length === shape.length) return numbers[start + offset]
      if (index.length !== shape.length - 1) throw new Error(`${name} has ${shape.length} axes, ${index.length} given`)
      const width = shape[shape.length - 1]
      const from = start + offset * width
      return numbers.subarray(from, from + width)
    }
  }
})()
