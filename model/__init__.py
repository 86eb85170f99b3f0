"""The KV cache, in the order to read it. Importing this package imports nothing.

The toy (lesson 1)
    toy.config, toy.network     the encoder-decoder, once: trained, run whole, or fed word by word
    toy.cache, toy.decode       two stores and the twin decoders whose difference is the lesson
    toy.arithmetic              sums in one order, and in a library's
    toy.record, toy.trace       a run, kept as frozen NumPy
    counts                      how much work that was, in closed form

What is stored (lesson 2)
    attention.attend, .heads    scores, softmax, mix; grouped heads; the seams for wrong twins
    attention.latent, .shared, .yoco, .compressed
    toy.variants                the toy trained each of these ways
    storage                     ways to keep keys and values, one a file; codecs for fewer bits
    cache, decoder              a store a layer; a small decoder-only model around them

Which keys are read (lesson 3)
    masks, patterns, stacks     predicates, their counts, what they let a cache forget

Going deeper (lesson 4)
    layer_work, work, work_of   FLOPs and numbers moved: a layer, a model, one of the catalogue
    costs, hardware             bytes, time, rooflines
    rope, positions             positions in a key that is stored once
    attention.online_softmax    softmax in blocks
    serving                     paging, prefixes, schedules
    sampling, beam              choosing words
    speculation, drafters, ngrams, toy.translating
                                cheap drafts, checked in one pass and rolled back

Beside them
    sizing                      how large any real model's cache is (imports no torch)
    engine                      real models on this machine
    bugs                        wrong twins of the right parts, and the tests that catch them
    facts                       every number the prose quotes
"""
