/**
 * Messages as an earlier version wrote them: processes of two versions run side by side during every update, and the
 * durable ones outlive it. A message changes additively only, so these stay readable; never edit one to make a test pass.
 */

import { describe, expect, test } from 'vitest'
import golden from './golden-messages.json' with { type: 'json' }
import { findAccountReply, findAccountRequest } from './developer-keys-api.ts'
import {
  answerSecretsReply,
  followedEnd,
  followedFailure,
  followedHead,
  followRequest,
  keptHead,
} from './idempotency.ts'
import { answerEnd, answerFailure, answerHead, jobHeader } from './job.ts'
import { fillReply, fillRequest, mintGuestReply, mintGuestRequest } from './keys-api.ts'
import {
  accountUsageReply,
  accountUsageRequest,
  quotaReply,
  quotaRequest,
  warmReply,
  warmRequest,
} from './metering-api.ts'
import { routerAlive } from './router-alive.ts'
import { describeRouter, routerDescribed, showRoutersReply } from './routers-api.ts'
import { accountThreshold, noteStandingRequest } from './standing.ts'
import { usageBatch } from './usage-event.ts'

const schemas = {
  ...{ jobHeader, answerHead, answerEnd, answerFailure, usageBatch },
  ...{ fillRequest, fillReply, mintGuestRequest, mintGuestReply },
  ...{ warmRequest, warmReply, quotaRequest, quotaReply },
  ...{ noteStandingRequest, accountThreshold },
  ...{ findAccountRequest, findAccountReply, accountUsageRequest, accountUsageReply },
  ...{ routerAlive },
  ...{ answerSecretsReply, followRequest, followedHead, followedEnd, followedFailure, keptHead },
  ...{ describeRouter, routerDescribed, showRoutersReply },
}

const messages = Object.entries(golden) as [keyof typeof schemas, Record<string, unknown>][]

test('every message has its golden one', () => {
  expect(messages.map(([name]) => name)).toEqual(Object.keys(schemas))
})

describe.each(messages)('%s', (name, message) => {
  test('as it was first written is still read, nothing lost', () => {
    expect(schemas[name].parse(message)).toMatchObject(message)
  })

  test('with a field that only a later version knows is read as well', () => {
    expect(schemas[name].safeParse({ ...message, addedLater: 1 }).success).toBe(true)
  })
})
