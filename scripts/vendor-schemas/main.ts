/**
 * `npm run schemas:write`: writes JSON schemas of vendors' requests from the vendors' own descriptions: the types of their
 * official SDKs, and the sources of servers. The strict stand-ins validate each request by them.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reportFatal } from '@gateway/service/report-fatal'
import { npmPackages } from '../npm-packages.ts'
import { CACHE, run } from '../python.ts'
import { schemaOfStructs } from './go-structs.ts'

const TARGET = join(import.meta.dirname, '../../services/router/test/vendors/schemas')

const GENERATOR = 'ts-json-schema-generator'
/** Versions of November 2026. A new one may refuse what a former one took, so it is taken on purpose. */
const PACKAGES = {
  [GENERATOR]: '2.9.0',
  openai: '7.57.0',
  '@anthropic-ai/sdk': '1.12.0',
  '@openrouter/sdk': '1.3.19',
}
const OLLAMA = 'github.com/ollama/ollama@v0.17.4'
const SGLANG = 'sglang==0.5.23'

interface Typed {
  package: keyof typeof PACKAGES
  file: string
  type: string
  /** In place of the type's own, which its SDK fills in first. */
  required?: string[]
}
const OF_SDKS: Record<string, Typed> = {
  openai: {
    package: 'openai',
    file: 'resources/chat/completions/completions.d.ts',
    type: 'ChatCompletionCreateParamsBase',
  },
  'openai-embeddings': { package: 'openai', file: 'resources/embeddings.d.ts', type: 'EmbeddingCreateParams' },
  anthropic: {
    package: '@anthropic-ai/sdk',
    file: 'resources/messages/messages.d.ts',
    type: 'MessageCreateParamsBase',
  },
  openrouter: {
    package: '@openrouter/sdk',
    file: 'esm/models/chatrequest.d.ts',
    type: 'ChatRequest$Outbound',
    required: ['messages'],
  },
}

try {
  for (const [name, typed] of Object.entries(OF_SDKS)) await writeSdk(name, typed)
  await writeOllama()
  await writeSglang()
} catch (error) {
  reportFatal(error)
}

async function write(name: string, source: string, schema: object): Promise<void> {
  const readOn = new Date().toISOString().slice(0, 10)
  await writeFile(join(TARGET, `${name}.json`), `${JSON.stringify({ source, readOn, schema })}\n`)
}

async function writeSdk(name: string, { package: owner, file, type, required }: Typed): Promise<void> {
  const folder = await npmPackages({
    folder: `vendor-schemas-${PACKAGES.openai}`,
    packages: PACKAGES,
    notice: "installing vendors' SDKs,",
  })
  const config = join(folder, 'tsconfig.json')
  const compilerOptions = {
    module: 'nodenext',
    moduleResolution: 'nodenext',
    strict: true,
    skipLibCheck: true,
    types: [],
  }
  await writeFile(config, JSON.stringify({ compilerOptions, include: ['*.d.ts'] }))
  const options = {
    path: join(folder, 'node_modules', owner, file),
    tsconfig: config,
    type,
    skipTypeCheck: true,
    jsDoc: 'none',
    topRef: false,
    additionalProperties: false,
  }
  const script = `
    const { createGenerator } = await import(${JSON.stringify(GENERATOR)})
    console.log(JSON.stringify(createGenerator(${JSON.stringify(options)}).createSchema(${JSON.stringify(type)})))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024,
  })
  await write(name, `${owner} ${PACKAGES[owner]} of npm, ${type}`, {
    ...(JSON.parse(stdout) as object),
    ...(required && { required }),
  })
}

/** Its server decodes requests into these structs, and ignores every other member. */
async function writeOllama(): Promise<void> {
  const { stdout } = await run('go', ['mod', 'download', '-json', OLLAMA], {
    env: { ...process.env, GOPATH: join(CACHE, 'go'), GOFLAGS: '-modcacherw' },
  })
  const { Dir: folder } = JSON.parse(stdout) as { Dir: string }
  const source = await readFile(join(folder, 'openai/openai.go'), 'utf8')
  for (const [name, type] of [
    ['ollama', 'ChatCompletionRequest'],
    ['ollama-embeddings', 'EmbedRequest'],
  ] as const)
    await write(name, `${OLLAMA}, openai/openai.go, ${type}`, schemaOfStructs(source, type))
}

/** Its server's own model of a request. Pydantic ignores every other member. */
async function writeSglang(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vendor-schemas-'))
  try {
    const wheel = ['--no-deps', '--only-binary', ':all:', '--python-version', '3.12', '--dest', folder, SGLANG]
    await run('python3', ['-m', 'pip', 'download', '--quiet', ...wheel])
    const { stdout } = await run('python3', [join(import.meta.dirname, 'pydantic_fields.py'), folder])
    await write(
      'sglang',
      `${SGLANG} of PyPI, srt/entrypoints/openai/protocol.py, ChatCompletionRequest`,
      JSON.parse(stdout),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
