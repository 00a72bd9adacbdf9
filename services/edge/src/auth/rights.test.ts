import { expect, test } from 'vitest'
import { DEFAULT_ADMINISTRATION } from '@gateway/contracts/administration/settings'
import { rightsOf, verifyPersonBy } from './rights.ts'

const { operators, signIn } = DEFAULT_ADMINISTRATION
const UNCLAIMED = { role: null, groups: [], hasRole: false, hasGroups: false }
const NOTHING = { ...UNCLAIMED, hasRole: true }

test.each([
  [{}, UNCLAIMED],
  [
    { roles: null, groups: [] },
    { ...UNCLAIMED, hasRole: true, hasGroups: true },
  ],
  [{ roles: ['gateway-reader'] }, { ...NOTHING, role: 'reader' }],
  [{ roles: ['gateway-reader', 'gateway-owner'] }, { ...NOTHING, role: 'owner' }],
  [{ roles: 'gateway-owner' }, { ...NOTHING, role: 'owner' }],
  [{ roles: 'not-gateway-owner' }, NOTHING],
  [{ roles: 'gateway-owner gateway-reader' }, NOTHING],
  [{ roles: { owner: 'gateway-owner' } }, NOTHING],
  [{ roles: [['gateway-owner']] }, NOTHING],
  [{ roles: 1 }, NOTHING],
  [
    { groups: ['search', 'ads', 'search', 1, '', '\0', '\ud800'] },
    { ...UNCLAIMED, hasGroups: true, groups: ['search', 'ads'] },
  ],
  [
    { email: 'ada@example.org', name: 'Ada' },
    { ...UNCLAIMED, email: 'ada@example.org', name: 'Ada' },
  ],
  [{ preferred_username: 'ada' }, { ...UNCLAIMED, name: 'ada' }],
  [{ email: 'a'.repeat(321), name: '' }, UNCLAIMED],
])('the claims %j give these rights', (claims, rights) => {
  expect(rightsOf(claims, { operators, signIn })).toEqual(rights)
})

test('a claim is named whole, or as a member of another claim', () => {
  const named = (claim: string) => ({ operators: { ...operators, claim }, signIn })
  const member = { realm_access: { roles: ['gateway-owner'] } }
  expect(rightsOf(member, named('realm_access.roles')).role).toBe('owner')
  expect(rightsOf({ 'https://id.example/roles': ['gateway-owner'] }, named('https://id.example/roles')).role).toBe(
    'owner',
  )
  expect(rightsOf({}, named('constructor.name')).role).toBeNull()
})

test('a change of the config holds for the next token', async () => {
  const config = { current: {} }
  const verify = verifyPersonBy(async () => ({ issuer: 'i', subject: 's', claims: { teams: ['a'] } }), config)
  expect(await verify('token')).toEqual({ issuer: 'i', subject: 's', ...UNCLAIMED })
  config.current = { signIn: { groupsClaim: 'teams' } }
  expect(await verify('token')).toMatchObject({ groups: ['a'] })
})
