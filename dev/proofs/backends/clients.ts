/**
 * The client libraries that people use, each in one pinned version, below `node_modules/.cache`: not among the workspace's
 * own packages, since only these tests need them.
 */

import { createHash } from 'node:crypto'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { npmPackages, versionsOf } from '../../../scripts/npm-packages.ts'
import { pythonWith } from '../../../scripts/python.ts'

/** All published in 2026. */
const OF_NODE = {
  '@anthropic-ai/sdk': '1.12.0',
  openai: '7.57.0',
  '@ai-sdk/openai-compatible': '3.0.92',
  ai: '7.0.173',
  '@langchain/openai': '1.6.0',
  '@langchain/core': '1.4.0',
  zod: '4.6.7',
}
/** LlamaIndex takes OpenAI's client below version 3 only; `dev/proofs/clients` has the newest. */
const OF_PYTHON = {
  anthropic: '2.12.0',
  openai: '2.54.0',
  'langchain-openai': '1.7.3',
  'langchain-core': '1.7.2',
  'llama-index-core': '0.14.25',
  'llama-index-llms-openai-like': '0.8.1',
  'llama-index-embeddings-openai-like': '0.4.0',
}
const SOURCES = join(import.meta.dirname, '../../../tests/backends/clients')

export interface Clients {
  /** The folder of the scripts, beside the packages that they import. */
  folder: string
  python: string
  /** With the tokens by which LangChain for Python counts and sends texts. */
  tokensFolder: string
  versions: string
}

export async function findClients(): Promise<Clients> {
  const folder = await npmPackages({
    folder: `clients-node-${OF_NODE.openai}-${OF_NODE['@anthropic-ai/sdk']}`,
    packages: OF_NODE,
    notice: 'installing the Node clients',
  })
  await cp(SOURCES, folder, { recursive: true })
  const programs = await pythonWith({
    folder: `clients-python-${OF_PYTHON.openai}-${OF_PYTHON.anthropic}`,
    packages: Object.entries(OF_PYTHON).map(([name, version]) => `${name}==${version}`),
    notice: `installing the Python clients ${versionsOf(OF_PYTHON).join(', ')} from PyPI`,
  })
  const tokensFolder = await writeTokens(folder)
  return {
    folder,
    python: join(programs, 'python'),
    tokensFolder,
    versions: `${versionsOf(OF_NODE).join(', ')} from npm; ${versionsOf(OF_PYTHON).join(', ')} from PyPI`,
  }
}

const TOKENS_URL = 'https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken'

/**
 * The Python package `tiktoken` loads its tokens from the web, npm's `js-tiktoken` carries the same ones. `tiktoken` takes
 * a file only when its SHA-256 is the one that it expects.
 */
async function writeTokens(clients: string): Promise<string> {
  const folder = join(clients, 'tokens')
  const ranks = pathToFileURL(join(clients, 'node_modules/js-tiktoken/dist/ranks/cl100k_base.js')).href
  const { default: encoding } = (await import(ranks)) as { default: { bpe_ranks: string } }
  const lines = encoding.bpe_ranks.split('\n').flatMap((line) => {
    const [, first, ...tokens] = line.split(' ')
    return tokens.map((token, at) => `${token} ${Number(first) + at}\n`)
  })
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, createHash('sha1').update(TOKENS_URL).digest('hex')), lines.join(''))
  return folder
}
