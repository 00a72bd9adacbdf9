import { readFileSync } from 'node:fs'
import { busRoles } from '@gateway/contracts/bus-roles'
import { expect, test } from 'vitest'
import { NATS_USERS_PATH, natsUsersFile, permissionsOf } from './nats-users.ts'

test("the chart's NATS users are those that the contract's table gives (npm run write deploy)", () => {
  expect(readFileSync(NATS_USERS_PATH, 'utf8')).toBe(natsUsersFile())
})

test('nobody may subscribe to an inbox but their own, and nobody may respond without a request', () => {
  for (const role of busRoles) {
    const { publish, subscribe } = permissionsOf(role)
    expect(subscribe.filter((subject) => subject.startsWith('inbox.'))).toEqual([`inbox.${role}.*.>`])
    expect(
      publish.filter((subject) => /^inbox\..*\.(?:r|j|d|p)\b|>$/.test(subject.replace(/^\$JS\.ACK\..*/, ''))),
    ).toEqual([])
  }
})
