/**
 * Admission does not know a key: fills it in, dead or alive, or says that nobody owns such a key.
 *
 * A store that forgot makes the edges request all accounts at once. So a few statements read many accounts, on at most two connections.
 */

import type { FillReply, FillRequest } from '@gateway/contracts/keys-api'
import { batchLookUps } from '@gateway/rpc/batch-look-ups'
import type { KeysContext } from '../keys-context.ts'
import { fillAccounts, type RequestedAccount } from '../fill-admission.ts'

const ACCOUNTS_AT_A_TIME = 256
const BATCHES_AT_ONCE = 2

export function fillTogether(context: KeysContext): (question: FillRequest) => Promise<FillReply> {
  const fill = batchLookUps<FillRequest, FillReply>({
    batchSize: ACCOUNTS_AT_A_TIME,
    concurrency: BATCHES_AT_ONCE,
    lookUp: (questions) => fillMany(context, questions),
  })
  return async (requested) => {
    // Made-up keys end here, many at one look into an index.
    const isKey = await context.lookUps.isKeyOf(requested.account, Buffer.from(requested.keyHash, 'base64url'))
    return isKey ? fill(requested) : { kind: 'unknown' }
  }
}

async function fillMany(context: KeysContext, questions: FillRequest[]): Promise<PromiseSettledResult<FillReply>[]> {
  const requested = [...Map.groupBy(questions, ({ account }) => account)].map(
    ([account, ofAccount]): RequestedAccount => {
      const hashes = new Set(ofAccount.map(({ keyHash }) => keyHash))
      return { account, keyHashes: [...hashes].map((keyHash) => Buffer.from(keyHash, 'base64url')) }
    },
  )
  const outcomes = await fillTwice(context, requested)
  return Promise.allSettled(
    questions.map(async ({ account }): Promise<FillReply> => {
      const outcome = outcomes.get(account)!
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value ? { kind: 'filled', plan: outcome.value.plan } : { kind: 'unknown' }
    }),
  )
}

/** Tries failed accounts a second time: the store may have restarted between the read of its epoch and the write. */
async function fillTwice(context: KeysContext, requested: RequestedAccount[]) {
  const first = await fillAccounts(context, requested)
  const failed = requested.filter((_, index) => first[index]!.status === 'rejected')
  const second = failed.length > 0 ? await fillAccounts(context, failed) : []
  return new Map(requested.map((one, index) => [one.account, second[failed.indexOf(one)] ?? first[index]!]))
}
