import { vendorByHost, VENDORS, type Vendor, type VendorSettings } from '@gateway/contracts/vendors'
import { loadConfig } from '@gateway/config/load-config'
import { describe, expect, test } from 'vitest'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importLitellmFile } from './config.ts'
import { importLitellm } from './import-litellm.ts'

/** Settings as docs.litellm.ai/docs/proxy/configs shows them (2026-10-13). */
const CONFIG = {
  model_list: [
    {
      model_name: 'gpt-4o',
      litellm_params: {
        model: 'azure/gpt-4o-eu',
        api_base: 'https://my-endpoint-europe.openai.azure.com/',
        api_key: 'os.environ/AZURE_API_KEY_EU',
        rpm: 6,
      },
    },
    {
      model_name: 'gpt-4o',
      litellm_params: { model: 'gpt-4o', api_key: 'sk-in-the-file', weight: 2, timeout: 300 },
      model_info: { max_output_tokens: 16_384, input_cost_per_token: 0.000_002 },
    },
    {
      model_name: 'claude',
      litellm_params: { model: 'anthropic/claude-sonnet-4-6', api_key: 'os.environ/ANTHROPIC_API_KEY' },
    },
    { model_name: 'local', litellm_params: { model: 'ollama_chat/qwen3:8b', api_base: 'http://gpu:11434' } },
    {
      model_name: 'vertex',
      litellm_params: { model: 'vertex_ai/gemini-2.5-pro', vertex_project: 'p', vertex_location: 'us-central1' },
    },
    { model_name: 'rock', litellm_params: { model: 'bedrock/openai.gpt-oss-20b-1:0', aws_region_name: 'us-west-2' } },
    {
      model_name: 'vectors',
      litellm_params: { model: 'text-embedding-3-small', api_key: 'os.environ/OPENAI_API_KEY' },
      model_info: { mode: 'embedding' },
    },
    { model_name: 'all-*', litellm_params: { model: 'openai/*' } },
    { model_name: 'voice', litellm_params: { model: 'openai/whisper-1' }, model_info: { mode: 'audio_transcription' } },
  ],
  litellm_settings: { drop_params: true, fallbacks: [{ claude: ['gpt-4o'] }, { local: ['nowhere'] }] },
  general_settings: { master_key: 'sk-1234' },
}

const { file, withoutCounterpart, notes } = importLitellm(CONFIG)

test('is a file that this gateway takes', () => {
  const { config } = loadConfig(JSON.stringify(file), 'imported')
  expect(config.models.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['gpt-4o', 'claude', 'local', 'vertex', 'rock', 'vectors']),
  )
})

test('names addresses, vendors and variables', () => {
  const backends = file.backends!.map(({ id, vendor, url, apiKey }) => [id, vendor, url, apiKey])
  expect(backends).toEqual([
    ['azure', 'azure', 'https://my-endpoint-europe.openai.azure.com/openai/v1', '${AZURE_API_KEY_EU}'],
    ['openai', 'openai', 'https://api.openai.com/v1', '${OPENAI_API_KEY_2}'],
    ['anthropic', 'anthropic', 'https://api.anthropic.com/v1', '${ANTHROPIC_API_KEY}'],
    ['ollama_chat', 'ollama', 'http://gpu:11434/v1', undefined],
    [
      'vertex_ai',
      'vertex',
      'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/endpoints/openapi',
      undefined,
    ],
    ['bedrock', 'bedrock', 'https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1', undefined],
    ['openai-2', 'openai', 'https://api.openai.com/v1', '${OPENAI_API_KEY}'],
  ])
  expect(file.backends![1]).toMatchObject({ timeouts: { firstByteMs: 300_000 } })
})

test('balances by weight, and falls back where its models fail', () => {
  const targets = (id: string) => file.pools!.find((pool) => pool.id === id)!.targets
  expect(targets('gpt-4o')).toEqual([
    { backend: 'azure', model: 'gpt-4o-eu' },
    { backend: 'openai', model: 'gpt-4o', weight: 2 },
  ])
  expect(targets('claude')).toEqual([
    { backend: 'anthropic', model: 'claude-sonnet-4-6' },
    { backend: 'azure', model: 'gpt-4o-eu', priority: 2 },
    { backend: 'openai', model: 'gpt-4o', weight: 2, priority: 2 },
  ])
})

test('names everything without a counterpart, and copies no key', () => {
  expect(withoutCounterpart).toEqual([
    'model_list[0].litellm_params.rpm: 6',
    'model_list[1].model_info.input_cost_per_token: 0.000002',
    'model_list[7].model_name: "all-*"',
    'model_list[7].litellm_params.model: "openai/*"',
    'model_list[8].model_name: "voice"',
    'model_list[8].litellm_params.model: "openai/whisper-1"',
    'model_list[8].model_info.mode: "audio_transcription"',
    'litellm_settings.drop_params: true',
    'litellm_settings.fallbacks[1].local[0]: "nowhere"',
    'general_settings.master_key',
  ])
  const output = JSON.stringify([file, withoutCounterpart, notes])
  for (const secret of ['sk-in-the-file', 'sk-1234']) expect(output).not.toContain(secret)
  expect(notes).toContainEqual(expect.stringContaining('set OPENAI_API_KEY_2 for the router'))
})

describe('a file of another kind', () => {
  test.each([null, 'text', [], {}, { model_list: [null, { model_name: 1 }] }])('%j gives an empty one', (config) => {
    expect(importLitellm(config).file).toMatchObject({ backends: [], pools: [], models: [] })
  })
})

describe('an entry is imported to its own server, with its own key, or not at all', () => {
  const entry = (name: string, litellm_params: object) => ({ model_name: name, litellm_params })
  const imported = (...model_list: object[]) => importLitellm({ model_list })

  test.each([
    ['of another vendor', { model: 'replicate/llama', api_key: 'os.environ/REPLICATE_API_KEY' }],
    ['of another vendor by its field', { model: 'command-r', custom_llm_provider: 'sagemaker' }],
    ['of another vendor by its name', { model: 'command-r', api_key: 'os.environ/COHERE_API_KEY' }],
    ['whose address holds a password', { model: 'openai/a', api_base: 'https://me:hidden@gpu/v1' }],
    ['whose address holds a key', { model: 'openai/a', api_base: 'https://gpu/v1?key=hidden' }],
  ])('%s', (_, params) => {
    const result = imported(entry('a', params))
    expect(result.file).toMatchObject({ backends: [], pools: [], models: [] })
    expect(result.notes).toEqual([expect.stringContaining('is left out')])
    expect(result.withoutCounterpart.map((setting) => setting.split(':')[0])).toEqual([
      'model_list[0].model_name',
      ...Object.keys(params).map((name) => `model_list[0].litellm_params.${name}`),
    ])
    expect(JSON.stringify(result)).not.toContain('hidden')
  })

  test('keys that stand in the file get a variable each', () => {
    const key = (api_key: string) => entry(api_key, { model: 'openai/a', api_key })
    const { file } = imported(key('sk-one'), key('sk-two'), key('sk-one'), key('os.environ/OPENAI_API_KEY_2'))
    expect(file.backends!.map(({ apiKey }) => apiKey)).toEqual([
      '${OPENAI_API_KEY}',
      '${OPENAI_API_KEY_3}',
      '${OPENAI_API_KEY_2}',
    ])
  })

  test('models with similar names have a pool each', () => {
    const { file } = imported(
      ...['gpt-4.1', 'gpt-4-1', 'GPT-4.1'].map((name) => entry(name, { model: `openai/${name}` })),
    )
    expect(file.pools!.map(({ id, targets }) => [id, targets.map(({ model }) => model)])).toEqual([
      ['gpt-4-1', ['gpt-4.1']],
      ['gpt-4-1-2', ['gpt-4-1']],
      ['gpt-4-1-3', ['GPT-4.1']],
    ])
  })

  test('values that may be secrets are not shown', () => {
    const { withoutCounterpart } = importLitellm({
      general_settings: { extra_headers: { 'x-any': 'hidden' }, smtp_pass: 'hidden', store: 'redis://:hidden@a' },
      environment_variables: { ANY: 'hidden' },
    })
    expect(withoutCounterpart).toEqual([
      'general_settings.extra_headers.x-any',
      'general_settings.smtp_pass',
      'general_settings.store',
      'environment_variables.ANY',
    ])
  })
})

test('no name of a setting or a model ends its comment', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'litellm-'))
  try {
    const file = join(folder, 'config.yaml')
    const hostile = 'a\nplans:\r  - stolen\u2028'
    const model_list = [{ model_name: hostile, litellm_params: { model: 'unheard-of/model' } }]
    await writeFile(file, JSON.stringify({ model_list, [hostile]: { [hostile]: 1 } }))
    const { text } = await importLitellmFile(file)
    const lines = text.split(/[\n\r\u2028]/)
    expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual(['extends: default'])
  } finally {
    await rm(folder, { recursive: true })
  }
})

/** docs.litellm.ai/docs/providers (2026-11). */
const PREFIXES: Partial<Record<Vendor, string>> = {
  together: 'together_ai',
  fireworks: 'fireworks_ai',
  nvidia: 'nvidia_nim',
}
const addresses = Object.entries<VendorSettings>(VENDORS).filter(([, { url }]) => url !== undefined)

test.each(addresses)('a model of %s is imported with its vendor, at the vendor’s own address', (vendor, { url }) => {
  const provider = PREFIXES[vendor as Vendor] ?? vendor
  const { file } = importLitellm({
    model_list: [{ model_name: 'm', litellm_params: { model: `${provider}/a-model` } }],
  })
  expect(file.backends).toMatchObject([{ vendor, url }])
  expect(file.pools).toMatchObject([{ targets: [{ model: 'a-model' }] }])
  const { config } = loadConfig(JSON.stringify(file), 'imported')
  expect(config.backends).toMatchObject([{ vendor, url }])
})

test('a model of huggingface names its provider as the vendor does', () => {
  const imported = (model: string) =>
    importLitellm({ model_list: [{ model_name: 'm', litellm_params: { model } }] }).file.pools![0]!.targets
  expect(imported('huggingface/together/deepseek-ai/DeepSeek-R1')).toMatchObject([
    { model: 'deepseek-ai/DeepSeek-R1:together' },
  ])
  expect(imported('huggingface/Qwen/Qwen3-32B')).toMatchObject([{ model: 'Qwen/Qwen3-32B' }])
})

test('a vendor that the config does not name is imported by its address', () => {
  const { file } = importLitellm({ model_list: [{ model_name: 'm', litellm_params: { model: 'deepinfra/llama' } }] })
  expect(file.backends).toMatchObject([{ url: 'https://api.deepinfra.com/v1/openai' }])
  expect(vendorByHost(file.backends![0]!.url!)).toBe('deepinfra')
})
