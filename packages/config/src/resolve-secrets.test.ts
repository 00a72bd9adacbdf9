import { backendConfig } from '@gateway/contracts/config'
import { describe, expect, test } from 'vitest'
import { exportsSection } from '@gateway/contracts/exports'
import { webhookConfig } from '@gateway/contracts/webhooks'
import { resolveExport, resolveSecrets, resolveWebhook } from './resolve-secrets.ts'

const backend = (fields: object) => backendConfig.parse({ id: 'gpu-a', url: 'http://gpu-a/v1', ...fields })

describe('${NAME} in a backend is replaced from the environment', () => {
  test('in its key, its address and its headers, wherever it stands in them', () => {
    const resolved = resolveSecrets(
      backend({
        url: '${GPU_URL}/v1',
        apiKey: 'sk-${GPU_KEY}',
        headers: { 'x-team': '${TEAM}-${TEAM}', 'x-plain': '$5' },
      }),
      { GPU_URL: 'https://gpu.internal:8443', GPU_KEY: 'abc', TEAM: 'red' },
    )
    expect(resolved).toMatchObject({
      id: 'gpu-a',
      url: 'https://gpu.internal:8443/v1',
      apiKey: 'sk-abc',
      headers: { 'x-team': 'red-red', 'x-plain': '$5' },
    })
  })

  test('any value is taken as it is', () => {
    expect(resolveSecrets(backend({ apiKey: '${A}' }), { A: '$& ${B} $1', B: 'never' }).apiKey).toBe('$& ${B} $1')
  })

  test('a backend without any stays as it is', () => {
    const plain = backend({ apiKey: 'none' })
    expect(resolveSecrets(plain, {})).toEqual(plain)
    expect(resolveSecrets(backend({}), {})).not.toHaveProperty('apiKey')
  })
})

describe('all missing variables are reported at once', () => {
  test('each variable with the field that refers to it; an empty one is missing too', () => {
    const configured = backend({ apiKey: '${GPU_KEY}', headers: { 'x-team': '${TEAM}' } })
    expect(() => resolveSecrets(configured, { TEAM: '' })).toThrow(
      [
        'The configuration in backend gpu-a cannot be used (2 problems):',
        '  backend gpu-a  headers.x-team: the environment variable TEAM is not set; set it for the router, or do not refer to it',
        '  backend gpu-a  apiKey: the environment variable GPU_KEY is not set; set it for the router, or do not refer to it',
      ].join('\n'),
    )
  })

  test('an address that is invalid after its secrets are filled in is refused without showing them', () => {
    expect(() => resolveSecrets(backend({ url: '${GPU_URL}' }), { GPU_URL: 'hunter22' })).toThrow(
      /^(?!.*hunter22).*is not an http or https address once \$\{GPU_URL\} is resolved$/s,
    )
  })
})

test.each(['sk-abc\n', 'sk\r\nx-role: admin', 'sk-…abc', 'sk\0'])(
  'a value that no header can hold (%j) is refused without being shown, in the environment or in the file',
  (secret) => {
    const refused = /^(?!.*sk).*apiKey: holds a line break or another character that no HTTP header may have/s
    expect(() => resolveSecrets(backend({ apiKey: '${GPU_KEY}' }), { GPU_KEY: secret })).toThrow(refused)
    expect(() => resolveSecrets(backend({ apiKey: secret }), {})).toThrow(refused)
    const headers = { 'x-team': '${TEAM}' }
    expect(() => resolveSecrets(backend({ headers }), { TEAM: secret })).toThrow(/headers\.x-team: holds a line break/)
  },
)

describe('${NAME} in a webhook is replaced from the environment', () => {
  const SECRET = 'whsec_TXlTZWNyZXRPZlRoaXJ0eVR3b0J5dGVzRm9yQVRlc3Q='
  const webhook = (fields: object) => webhookConfig.parse({ url: 'https://a.example/hooks', secret: '${A}', ...fields })

  test('in its address and its secrets', () => {
    const resolved = resolveWebhook(webhook({ url: 'https://${HOST}/hooks' }), { A: SECRET, HOST: 'b.example' })
    expect(resolved).toMatchObject({ id: 'https://${HOST}/hooks', url: 'https://b.example/hooks', secrets: [SECRET] })
  })

  test.each([
    [{}, {}, 'the environment variable A is not set; set it for metering'],
    [{}, { A: 'guessable' }, 'secret: must be 24 to 64 random bytes in Base64'],
    [{ url: 'http://${HOST}/' }, { A: SECRET, HOST: 'a.example' }, 'url: must be an https address'],
    [{ url: 'https://${HOST}/' }, { A: SECRET, HOST: 'me:pass@a.example' }, 'must have no name and no password'],
  ])('an unusable value is named without the value: %j with %j', (fields, environment: NodeJS.ProcessEnv, message) => {
    expect(() => resolveWebhook(webhook(fields), environment)).toThrow(message)
    expect(() => resolveWebhook(webhook(fields), environment)).not.toThrow(/guessable|me:pass/)
  })

  test('the config file takes both forms, and refuses the others', () => {
    expect(webhook({ secret: SECRET })).toMatchObject({ id: 'https://a.example/hooks', secrets: [SECRET] })
    expect(webhook({ id: 'ops', secret: undefined, secrets: [SECRET, '${B}'], events: ['key.revoked'] })).toMatchObject(
      {
        ...{ id: 'ops', secrets: [SECRET, '${B}'], events: ['key.revoked'], allowPrivate: false },
      },
    )
    const refused = [{ secret: undefined }, { secrets: [SECRET] }, { secret: 'short' }, { events: ['key.lost'] }]
    for (const fields of [...refused, { url: 'http://a.example' }, { url: 'ftp://a.example' }]) {
      expect(() => webhook(fields)).toThrow()
    }
  })

  test('none has the name of e-mail, whose deliveries it would get', () => {
    expect(() => webhook({ id: 'email', secret: SECRET })).toThrow("is the name of the gateway's own e-mail")
    expect(webhook({ id: 'e-mail', secret: SECRET }).id).toBe('e-mail')
  })
})

describe('an export to a collector of events', () => {
  const push = (fields: object = {}) =>
    exportsSection.parse([{ to: 'https://a.example:8443/api/v1/events?team=b', format: 'cloudevents', ...fields }])[0]!

  test('has its token from the environment', () => {
    const token = '${OPENMETER_TOKEN}'
    expect(resolveExport(push({ token }), { OPENMETER_TOKEN: 'abc' }).token).toBe('abc')
    expect(resolveExport(push(), {}).token).toBeUndefined()
    expect(() => resolveExport(push({ token }), {})).toThrow('the environment variable OPENMETER_TOKEN is not set')
    expect(() => resolveExport(push({ token }), { OPENMETER_TOKEN: 'abc\n' })).toThrow('token: holds a line break')
  })

  test.each([
    { format: 'ndjson' },
    { columns: 'focus' },
    { to: 'http://a.example/events' },
    { to: 'https://me:pass@a.example/events' },
    { to: 'file:///exports' },
    { to: 's3://bucket', format: 'ndjson', token: 'abc' },
  ])('refuses fields that do not fit: %j', (fields) => {
    expect(() => push(fields)).toThrow()
    expect(push()).toMatchObject({ id: 'a-example-8443-api-v1-events-team-b-cloudevents', allowPrivate: false })
  })
})
