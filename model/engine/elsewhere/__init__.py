"""Other engines, measured in processes of their own: their thread pools would slow PyTorch's.

turn            what a turn took, in plain numbers
serve           the process: loads an engine, then waits for turns (it never imports PyTorch)
of_llama_cpp    llama.cpp in it
of_ctranslate2  CTranslate2 in it
to_gguf         our weights as a GGUF file, for llama.cpp
to_ctranslate2  our weights as a CTranslate2 folder, converted in a process of its own
worker          our end of the pipe
"""
