/**
 * What the router knows of a vendor. Each vendor's file is such a profile; `index.ts` lists them, and the compiler names
 * the vendor that lacks one. Names, addresses, dialects and times stand in `contracts/src/vendors.ts`.
 *
 * Each rule names its source and its day. A profile holds no code but choices by a model's name: the mechanisms are in
 * `core/`.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import type { TargetDialect, VendorName } from '@gateway/contracts/vendors'
import type { UsageRules } from '../core/chat-chunk.ts'
import type { ParameterSupport } from '../core/parameter-support.ts'
import type { PricedOption } from '../core/strip-unpriced-options.ts'
import type { ToolCallRules } from '../core/tool-calls.ts'
import type { MessageRules } from '../core/translated-messages.ts'
import type { Credential } from '../credentials/credential.ts'

export interface VendorProfile {
  /** Null: a server of which nothing is known but its dialect. */
  name: VendorName | null
  authentication: Authentication
  /**
   * The parameters of a chat that the model rejects, or that the vendor ignores without a word. A row is worth having only
   * where the first rejection would hit every client, or where nothing tells of it. The router learns the rest
   * (`core/refused-parameters.ts`), and a learned rejection also overrules a row.
   */
  rejectedParameters(model: string): ParameterSupport
  /**
   * The members of a chat request that the model takes, where the vendor ignores all others without a word. Undefined
   * where it rejects by name what it does not know, or has not published its list.
   */
  acceptedParameters?(model: string): ReadonlySet<string> | undefined
  /** Members of a request, in any dialect, by which a client could change the price; those of all vendors where left out. */
  pricedOptions?: Readonly<Record<string, PricedOption>>
  /** The dialects in which a limit that the router sends bounds the calls of tools that the vendor runs. Elsewhere none is allowed. */
  hostedTools?: readonly TargetDialect[]
  toolCalls: ToolCallRules
  /** Of conversations that the router has translated. */
  messages: MessageRules
  usage: UsageRules
}

export interface Authentication {
  /** Where the key goes elsewhere than the dialect says. */
  keyHeaders?(apiKey: string): Record<string, string>
  /** Of the machine, for a backend without a key. */
  identity?: Identity
}

export interface Identity {
  /** Loads the vendor's own library. Throws a `ConfigError` at once where a setting is missing. */
  load(backend: BackendConfig, environment: NodeJS.ProcessEnv): () => Promise<Credential>
  /** How the library finds an identity. */
  advice: string
}
