import type { Access } from '@gateway/contracts/administration/operation'
import { expect, test } from 'vitest'
import { decideAccess, projectRoleOf, type AccessFacts } from './access.ts'

const FOREIGN = { exists: true, membership: null }
const NOWHERE = { exists: false, membership: null }
const MEMBER = { exists: true, membership: 'member' as const }
const OWNER = { exists: true, membership: 'owner' as const }

/** Of the words for calls on a project: nobody in it, a member, an owner, and a project that does not exist. */
const CALLERS: [name: string, facts: AccessFacts][] = [
  ['nobody, no project', { role: null, project: null }],
  ['reader, no project', { role: 'reader', project: null }],
  ['owner, no project', { role: 'owner', project: null }],
  ['nobody, foreign', { role: null, project: FOREIGN }],
  ['nobody, member', { role: null, project: MEMBER }],
  ['nobody, its owner', { role: null, project: OWNER }],
  ['nobody, nowhere', { role: null, project: NOWHERE }],
  ['reader, foreign', { role: 'reader', project: FOREIGN }],
  ['reader, member', { role: 'reader', project: MEMBER }],
  ['reader, its owner', { role: 'reader', project: OWNER }],
  ['reader, nowhere', { role: 'reader', project: NOWHERE }],
  ['owner, foreign', { role: 'owner', project: FOREIGN }],
  ['owner, member', { role: 'owner', project: MEMBER }],
  ['owner, nowhere', { role: 'owner', project: NOWHERE }],
]

/** y: allowed, f: forbidden, -: there is no such project. In the order of the callers above. */
const DECISIONS: Record<Access, string> = {
  'signed in': 'yyy -yy-  yyy-  yy-',
  reader: 'fyy -ff-  yyy-  yy-',
  owner: 'ffy -ff-  fff-  yy-',
  'project reader': 'fyy -yy-  yyy-  yy-',
  'project member': 'ffy -yy-  fyy-  yy-',
  'project owner': 'ffy -fy-  ffy-  yy-',
  'reader or project owner': 'fyy -fy-  yyy-  yy-',
}
const WORDS = { y: 'allowed', f: 'forbidden', '-': 'not_found' } as const

const rows = Object.entries(DECISIONS).flatMap(([access, decisions]) =>
  decisions
    .replaceAll(' ', '')
    .split('')
    .map((letter, index) => {
      const [caller, facts] = CALLERS[index]!
      return { access: access as Access, caller, facts, decision: WORDS[letter as keyof typeof WORDS] }
    }),
)

test('the table has a decision for every access and caller', () => {
  expect(rows).toHaveLength(7 * CALLERS.length)
})

test.each(rows)('$access for $caller: $decision', ({ access, facts, decision }) => {
  expect(decideAccess(access, facts)).toBe(decision)
})

test('an owner of the organization acts in each project as its owner, and a reader as the member that the reader is', () => {
  expect(projectRoleOf({ role: 'owner', project: FOREIGN })).toBe('owner')
  expect(projectRoleOf({ role: 'reader', project: MEMBER })).toBe('member')
  expect(projectRoleOf({ role: 'reader', project: FOREIGN })).toBeNull()
  expect(projectRoleOf({ role: 'owner', project: null })).toBeNull()
})
