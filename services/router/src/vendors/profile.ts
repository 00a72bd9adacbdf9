/**
 * The router's knowledge of a vendor. Each vendor's file is such a profile; `index.ts` lists them, and the compiler
 * names the vendor that lacks one. Names, addresses, dialects and times stand in `contracts/src/vendors.ts`.
 *
 * Each rule names its source and its day. A profile holds no code but choices by a model's name: the mechanisms are in
 * `core/`.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import type { TargetDialect, VendorName } from '@gateway/contracts/vendors'
import type { UsageRules } from '../core/chat-chunk.ts'
import type { Effort } from '../core/effort.ts'
import type { ErrorMeanings } from '../core/error-meanings.ts'
import type { FinishMeaning } from '../core/finish-reasons.ts'
import type { ParameterSupport } from '../core/parameter-support.ts'
import type { PricedOption } from '../core/strip-parameters.ts'
import type { ChatStateForm } from '../core/reasoning-state.ts'
import type { ToolCallRules } from '../core/tool-calls.ts'
import type { MessageRules } from '../core/translated-messages.ts'
import type { Credential } from '../credentials/credential.ts'

export interface VendorProfile {
  /** Null: a server of which nothing is known but its dialect. */
  name: VendorName | null
  authentication: Authentication
  /**
   * The parameters of a chat that the model rejects, or that the vendor ignores without a word. A row is worth having only
   * where the first rejection would hit every client, or where no source names it. The router learns the rest
   * (`core/refused-parameters.ts`), and a learned rejection also overrules a row.
   */
  rejectedParameters(model: string): ParameterSupport
  /** The values of `reasoning_effort` that the model takes; undefined where nobody knows, and a refusal teaches them. */
  efforts(model: string): readonly Effort[] | undefined
  /** True for a model that calls tools over the Responses API alone. */
  callsToolsByResponses?(model: string): boolean
  parameters: VendorParameters
  /** Members of a request, in any dialect, by which a client could change the price. All of them stay with the operator. */
  pricedOptions: Readonly<Record<string, PricedOption>>
  /** The dialects in which a limit that the router sends bounds the calls of tools that the vendor runs. Elsewhere none is allowed. */
  hostedTools?: readonly TargetDialect[]
  /** It serves `/messages/count_tokens`, whichever dialects the config names. */
  countsTokens?: boolean
  /** It compacts conversations of the Responses API: at `/responses/compact`, and by a last item `compaction_trigger`. */
  compacts?: boolean
  toolCalls: ToolCallRules
  /** The form in which its chat completions hold the state of the model's reasoning, where they do. */
  reasoningState?: ChatStateForm
  /** The rules for conversations that the router has translated. */
  messages: MessageRules
  usage: UsageRules
  /** Words of its own in errors (`core/error-meanings.ts`). Those of other vendors hold after them: `meanings.ts`. */
  errors?: Partial<ErrorMeanings>
  /** Finish reasons of its own, in lower case. */
  finishReasons?: Readonly<Record<string, FinishMeaning>>
}

/**
 * Each member that the vendor publishes is here or among the priced options. A client sends the accepted ones: they
 * describe how a response is generated and written. The router leaves out all others, and names them.
 */
export interface VendorParameters {
  /** Undefined: all members that no vendor has among its control parameters. */
  chat(model: string): ReadonlySet<string> | undefined
  /** Those of the dialect where left out. */
  messages?: ReadonlySet<string>
  responses?: ReadonlySet<string>
  embeddings?: ReadonlySet<string>
  images?: ReadonlySet<string>
  /** Within a member, by its path. */
  nested?: Readonly<Record<string, ReadonlySet<string>>>
  /**
   * Control parameters reach a target only where the operator's config allows them. By them a client could reach
   * another host, or another's cache or session. It could run code, order others' requests, choose another model or
   * hide the cost of its request.
   */
  control: ReadonlySet<string>
  /** Members of the vendor's other endpoints that its description names, too. */
  unrelated?: ReadonlySet<string>
}

export interface Authentication {
  /** Where the key goes elsewhere than the dialect says. */
  keyHeaders?(apiKey: string): Record<string, string>
  /** The identity of the machine, for a backend without a key. */
  identity?: Identity
}

export interface Identity {
  /** Loads the vendor's own library. Throws a `ConfigError` at once where a setting is missing. */
  load(backend: BackendConfig, environment: NodeJS.ProcessEnv): () => Promise<Credential>
  /** The way in which the library finds an identity. */
  advice: string
}
