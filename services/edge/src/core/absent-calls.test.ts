import { expect, test } from 'vitest'
import { insteadOf } from './absent-calls.ts'

test.each([
  '/v1/organization/invites',
  '/v1/organization/invites/invite-1',
  '/v1/organization/projects/proj_1/certificates/activate',
  '/v1/projects/proj_1/users/user-1/roles/role-1',
])('%s names the part that does its work here', (path) => {
  expect(insteadOf(path)).toMatch(/\w/)
})

test.each(['/v1/organization', '/v1/organization/inviteS', '/v1/organization/projects', '/v1/models', '/', ''])(
  '%j is none of the absent calls',
  (path) => {
    expect(insteadOf(path)).toBeNull()
  },
)
