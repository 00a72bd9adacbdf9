/**
 * The words by which a backend reports the meaning of its error. This file holds those that every backend of a dialect
 * uses; a vendor's profile holds its own, and `services/router/src/vendors/meanings.ts` puts both together.
 */

import type { Parameter } from './parameter-names.ts'

/**
 * A sign that our own account is the trouble. `credential`: the vendor serves nothing until an operator acts. `unpaid`:
 * nothing until someone pays, or a new month. `no_model`: nothing of this model. `passing`: it ends by itself, even if
 * the same word means something else at other vendors.
 */
export interface AccountSign {
  is: 'credential' | 'unpaid' | 'no_model' | 'passing'
  /** A code of the vendor: `error.code`, `error.status`, `error.details[].reason`, `__type`. */
  code?: string
  /** The beginning of the vendor's sentence. */
  sentence?: RegExp
}

/** Names a parameter in its first group, or stands for one of the router's own choices. */
export type RejectionSign = RegExp | { is: Parameter; sentence: RegExp }

export interface ErrorMeanings {
  /** The first sign that is found counts. */
  account: readonly AccountSign[]
  /**
   * Sentences that find the request itself at fault, by a status that elsewhere refuses our credential or the target's
   * model.
   */
  requestFaults: Readonly<Partial<Record<number, readonly RegExp[]>>>
  /** Sentences about a parameter that the server does not take. The first match counts. */
  rejectedParameter: readonly RejectionSign[]
  /** Sentences about an effort that the model does not take, the group `value`. The group `taken` lists those that it takes. */
  rejectedEffort: readonly RegExp[]
  /** A prompt that is too long. The groups `promptTokens` and `most` hold its tokens and the most that there may be. */
  tooLong: readonly RegExp[]
  /** The vendor's filter of contents has refused the request, by its code or sentence. */
  filtered: readonly (string | RegExp)[]
}

/** The meanings that hold for the backends of every vendor. */
export const COMMON_MEANINGS: ErrorMeanings = {
  account: [
    { is: 'credential', code: 'invalid_api_key' },
    // LM Studio and others: assumed to be OpenAI's code with a 400.
    { is: 'no_model', code: 'model_not_found' },
  ],
  requestFaults: {
    // Responses about files that a client names: assumed.
    404: [/^(?:File not found|No such File object)\b/i],
  },
  rejectedParameter: [
    /Unknown parameter: '(\w+)'/,
    /Unrecognized request arguments? supplied: (\w+(?:, \w+)*)/,
    // A server's own words, and those of serde and of jsonschema: assumed.
    /[`'"]?(\w{1,64})[`'"]? (?:is|are) not supported(?: (?:by|with|for) this (?:model|server|endpoint))?\.?$/,
    /(?:Failed to deserialize the JSON body into the target type: )?unknown field `(\w+)`/,
    /Additional properties are not allowed \('(\w+)' was unexpected\)/,
  ],
  rejectedEffort: [
    // CLIProxyAPI, then Google, ByteDance and others (2026).
    /level "(?<value>\w+)" not supported, valid levels: (?<taken>[\w, ]+)/,
    /Invalid reasoning_effort: (?<value>\w+)(?:\. Valid values are: (?<taken>[\w, ]+))?/i,
  ],
  tooLong: [
    /context_length_exceeded|exceed_context_size|context (?:length|window|size|limit)|(?:prompt|input) is too long|exceeds the maximum number of tokens/i,
  ],
  filtered: ['content_filter', 'content_policy_violation'],
}
