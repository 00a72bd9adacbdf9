import { expect, test } from 'vitest'
import { backendConfig } from './config.ts'
import { KNOWN_BY_HOST, vendorByHost, VENDORS, type VendorName, type VendorSettings } from './vendors.ts'

test.each<[string, VendorName | null]>([
  ['https://api.openai.com/v1', 'openai'],
  ['https://eu.api.openai.com/v1', 'openai'],
  ['https://our.openai.azure.com/openai/v1', 'azure'],
  ['https://our.services.ai.azure.com/openai/v1', 'azure'],
  ['https://api.anthropic.com/v1', 'anthropic'],
  ['https://generativelanguage.googleapis.com/v1beta/openai', 'gemini'],
  ['https://aiplatform.googleapis.com/v1', 'vertex'],
  ['https://europe-west4-aiplatform.googleapis.com/v1', 'vertex'],
  ['https://aiplatform.eu.rep.googleapis.com/v1', 'vertex'],
  ['https://storage.googleapis.com/v1', null],
  ['https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1', 'bedrock'],
  ['https://bedrock-mantle.us-west-2.api.aws/v1', 'bedrock'],
  ['https://our-vllm.elb.us-west-2.amazonaws.com/v1', null],
  ['https://openrouter.ai/api/v1', 'openrouter'],
  ['https://api.mistral.ai/v1', 'mistral'],
  ['https://api.x.ai/v1', 'xai'],
  ['https://api.together.ai/v1', 'together'],
  ['https://router.huggingface.co/v1', 'huggingface'],
  ['https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'dashscope'],
  ['https://notopenai.com/v1', null],
  ['https://openai.com.example.org/v1', null],
  ['http://10.0.0.7:8000/v1', null],
  ['http://[::1]:8000/v1', null],
])('%s is the address of %s', (url, vendor) => {
  expect(vendorByHost(url)).toBe(vendor)
})

test.each(Object.entries<VendorSettings>(VENDORS))(
  'a backend of %s has its vendor’s address, or must name one',
  (vendor, { url }) => {
    const parsed = backendConfig.safeParse({ id: 'a', vendor })
    if (url === undefined) expect(parsed.error?.issues).toMatchObject([{ path: ['url'] }])
    else expect([parsed.data?.url, vendorByHost(url)]).toEqual([url, vendor])
    expect(backendConfig.parse({ id: 'a', vendor, url: 'https://a.example/v1' }).url).toBe('https://a.example/v1')
  },
)

test('no vendor is known by its address alone and by its name, too', () => {
  for (const name of Object.keys(KNOWN_BY_HOST)) expect(VENDORS).not.toHaveProperty(name)
})
