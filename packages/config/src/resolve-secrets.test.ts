import { backendConfig } from '@gateway/contracts/config'
import { describe, expect, test } from 'vitest'
import { resolveSecrets } from './resolve-secrets.ts'

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
