import { readFileSync } from 'node:fs'
import { busRoles, talks } from '@gateway/contracts/bus-roles'
import { operatorSubjects, subjects } from '@gateway/contracts/subjects'
import { expect, test } from 'vitest'
import { NATS_USERS_PATH, natsUsersFile, permissionsOf } from './nats-users.ts'

test("the chart's NATS users are those that the contract's table gives (npm run deploy:write)", () => {
  expect(readFileSync(NATS_USERS_PATH, 'utf8')).toBe(natsUsersFile())
})

test('an operator may say what the command line says, and nothing else', () => {
  const said = Object.entries(talks)
    .filter(([, { from }]) => from.includes('ctl'))
    .map(([name]) => subjects[name as Exclude<keyof typeof subjects, 'job' | 'answers'>])
  expect(said.toSorted()).toEqual(operatorSubjects.toSorted())
})

test('nobody hears an inbox but his own, and nobody may answer without being asked', () => {
  for (const role of busRoles) {
    const { publish, subscribe } = permissionsOf(role)
    expect(subscribe.filter((subject) => subject.startsWith('inbox.'))).toEqual([`inbox.${role}.*.>`])
    expect(
      publish.filter((subject) => /^inbox\..*\.(?:r|j|d|p)\b|>$/.test(subject.replace(/^\$JS\.ACK\..*/, ''))),
    ).toEqual([])
  }
})
