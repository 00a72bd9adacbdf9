/**
 * The turns of a coding tool behind a model that reasons. Each has a call, its result, and the sealed state of the reasoning
 * before the call. Each API's client keeps that state in its own place.
 */

import { parseKey } from '@gateway/contracts/api-key'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { keepMasterSecret } from '@gateway/local/master-secret-file'
import { deriveMasterKeys, stateSecretsOf } from '../../../services/keys/src/core/master-keys.ts'
import { kindOfState, sealInId, sealMarked, sealValue } from '../../../services/router/src/core/reasoning-state.ts'
import { AccountSeal, deriveStateKeys } from '../../../services/router/src/core/state-seal.ts'
import { laneOf } from '../subjects/gateway.ts'

/** The vendor whose chat completions sign each call. */
export const SIGNING_VENDOR = 'gemini'
const TURNS = 8
/** Of base64. Gemini's are as long for a thought of some hundred tokens. */
const SIGNATURE_CHARACTERS = 1_200
const ARGUMENTS = JSON.stringify({ path: 'services/edge/src/main.ts', pattern: 'the operator of a gateway' })
const RESULT = 'The file has twelve lines that match; the first of them begins the server. '.repeat(6)

/** Behind the first message of the user; by chat: `plain` without any state, `vendor` with it as the vendor gives it. */
export type TurnsWithState = Record<ClientDialect | 'plain' | 'vendor', object[]>

/** Of the account of this key. */
export async function sealTurns(dataDir: string, key: string): Promise<TurnsWithState> {
  const account = parseKey(key)?.accountTag
  if (account === undefined) throw new Error('the bench has a key of another form')
  const secrets = stateSecretsOf(deriveMasterKeys(await keepMasterSecret(dataDir)))
  const keys = deriveStateKeys(secrets)
  const lane = laneOf(SIGNING_VENDOR)
  const target = {
    states: new AccountSeal(() => keys, account),
    stateKind: kindOfState({ dialect: 'chat', vendor: SIGNING_VENDOR, backend: lane, model: 'bench' }),
  }
  const turns: TurnsWithState = { plain: [], vendor: [], chat: [], responses: [], messages: [] }
  for (let turn = 0; turn < TURNS; turn++) {
    const id = `call_${turn}`
    const signed = { extra_content: { google: { thought_signature: signatureOf(turn) } } }
    const value = { on: 'call', ...signed }
    const piece = { kind: target.stateKind, value, text: 0, calls: 0 }
    turns.plain.push(...byChat(id))
    turns.vendor.push(...byChat(id, signed))
    turns.chat.push(...byChat(sealed(sealInId(target, id, [piece]))))
    turns.responses.push(...byResponses(id, sealed(sealValue(target, value))))
    turns.messages.push(...byMessages(id, sealed(sealMarked(target, value))))
  }
  return turns
}

function signatureOf(turn: number): string {
  return Buffer.alloc((SIGNATURE_CHARACTERS * 3) / 4, `${turn} thoughts of the model `).toString('base64')
}

function sealed(token: string | null): string {
  if (token === null) throw new Error('the state is too long to be sealed')
  return token
}

function byChat(id: string, signed: object = {}): object[] {
  const call = { id, type: 'function', function: { name: 'tool_0', arguments: ARGUMENTS }, ...signed }
  return [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: id, content: RESULT },
  ]
}

function byResponses(id: string, token: string): object[] {
  return [
    { type: 'reasoning', summary: [], encrypted_content: token },
    { type: 'function_call', call_id: id, name: 'tool_0', arguments: ARGUMENTS },
    { type: 'function_call_output', call_id: id, output: RESULT },
  ]
}

function byMessages(id: string, token: string): object[] {
  const thought = { type: 'thinking', thinking: '', signature: token }
  const call = { type: 'tool_use', id, name: 'tool_0', input: JSON.parse(ARGUMENTS) as object }
  return [
    { role: 'assistant', content: [thought, call] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: RESULT }] },
  ]
}
