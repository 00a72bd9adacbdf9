import { operations } from './operations.ts'
import { GatewayError } from '../errors.ts'
import { expect, test } from 'vitest'
import { readInput } from './read-input.ts'

const LIST = operations['apiKeys.list']
const CREATE = operations['apiKeys.create']
const ALERT = operations['spendAlerts.create']
const RECIPIENT = 'notification_channel.recipients.0'
const alertTo = (recipient: string) => ({
  currency: 'USD',
  interval: 'month',
  threshold_amount: 1,
  notification_channel: { type: 'email', recipients: [recipient] },
})

function refusal(run: () => unknown): { code: string; param: string | undefined } {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, param: error.details.param }
    throw error
  }
  throw new Error('the input was read')
}

test('path, query and body are read as one object, with the defaults of the call', () => {
  expect(readInput(LIST, { project_id: 'proj_1', limit: '5' })).toEqual({
    project_id: 'proj_1',
    limit: 5,
    owner_project_access: 'active',
  })
})

test('a recipient at the bounds of mail is taken', () => {
  const longest = alertTo(`${'a'.repeat(64)}@${'b'.repeat(63)}.example`)
  expect(readInput(ALERT, longest)).toEqual(longest)
})

test.each([
  ['a missing field', CREATE, { project_id: 'proj_1' }, 'name'],
  ['a field of another type', CREATE, { project_id: 'proj_1', name: 'a', models: ['a', 1] }, 'models.1'],
  ['a field that the call does not have', CREATE, { project_id: 'proj_1', name: 'a', scopes: [] }, 'scopes'],
  ['a query that the call does not have', LIST, { project_id: 'proj_1', order: 'asc' }, 'order'],
  ['a limit above 100', LIST, { project_id: 'proj_1', limit: '101' }, 'limit'],
  ['a missing part of the path', LIST, {}, 'project_id'],
  ['a NUL, which the database cannot store', CREATE, { project_id: 'proj_1', name: 'a\0b' }, 'name'],
  ['a recipient whose name is longer than mail takes', ALERT, alertTo(`${'a'.repeat(65)}@b.example`), RECIPIENT],
  ['a recipient with a label longer than DNS takes', ALERT, alertTo(`a@${'b'.repeat(64)}.example`), RECIPIENT],
  ['a recipient with a label that ends in a dash', ALERT, alertTo('a@b-.example'), RECIPIENT],
  ['half a surrogate pair', CREATE, { project_id: 'proj_1', name: 'a', models: ['\ud800'] }, 'models.0'],
])('%s is refused, and the refusal names it', (_about, row, input, param) => {
  expect(refusal(() => readInput(row, input))).toEqual({ code: 'VALIDATION_ERROR', param })
})
