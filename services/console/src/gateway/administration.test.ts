import { operations } from '@gateway/contracts/administration/operations'
import { describe, expect, test } from 'vitest'
import { requestOf } from './administration.ts'

describe('a call of the administration API', () => {
  test('puts ids into the path, as they are', () => {
    expect(requestOf(operations['apiKeys.rotate'], { project_id: 'proj_1', api_key_id: 'key/1 2' })).toEqual({
      path: '/v1/organization/projects/proj_1/api_keys/key%2F1%202/rotate',
      body: undefined,
    })
  })

  test('writes lists and members of the query as the gateway reads them, and leaves empty ones out', () => {
    const input = { project_id: 'proj_1', api_key_ids: ['key_1', 'key_2'], search: '', limit: 5, after: undefined }
    expect(requestOf(operations['apiKeys.list'], input).path).toBe(
      '/v1/organization/projects/proj_1/api_keys?limit=5&api_key_ids%5B%5D=key_1&api_key_ids%5B%5D=key_2',
    )
    expect(requestOf(operations['auditLogs.list'], { effective_at: { gt: 1 } }).path).toBe(
      '/v1/organization/audit_logs?effective_at%5Bgt%5D=1',
    )
  })

  test('puts all else into the body, null too, since it removes a limit', () => {
    const input = { project_id: 'proj_1', api_key_id: 'key_1', name: 'laptop', monthly_limit: null, models: undefined }
    expect(requestOf(operations['apiKeys.patch'], input)).toEqual({
      path: '/v1/organization/projects/proj_1/api_keys/key_1',
      body: { name: 'laptop', monthly_limit: null },
    })
  })
})
