/**
 * The members that clients may send to a target, from its vendor's profile and its operator's config.
 *
 * A server without a profile is often an engine under an address of the operator's. So no client sends it a control
 * parameter or a priced option of any vendor. Other members reach it: their meaning is between the client and that
 * server.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import type { TargetDialect } from '@gateway/contracts/vendors'
import { fold, namesIn, type MemberRule, type ParameterPolicy, type PricedOption } from '../core/strip-parameters.ts'
import { MESSAGES } from './anthropic.ts'
import { VENDOR_PROFILES } from './index.ts'
import { CHAT, EMBEDDINGS, IMAGES, RESPONSES } from './openai.ts'
import { plain } from './plain.ts'
import type { VendorProfile } from './profile.ts'

/** Conversations by the dialect of requests to the target, and the other kinds. */
export type PolicyName = TargetDialect | 'embeddings' | 'images'
export type ParameterPolicies = Record<PolicyName, ParameterPolicy>

const profiles = Object.values(VENDOR_PROFILES)

/** A parameter of one dialect is no control in another. */
const ORDINARY = new Set([...CHAT, ...EMBEDDINGS, ...IMAGES, ...RESPONSES, ...MESSAGES])

const CONTROL_OF_ALL = new Set(
  [...plain.parameters.control, ...profiles.flatMap(({ parameters }) => [...parameters.control])]
    .filter((name) => !ORDINARY.has(name))
    .map(fold),
)

/** An option with a value that is free at one vendor is free: each vendor has its own name for the usual value. */
const PRICED_OF_ALL = pricedOfAll()

function pricedOfAll(): Map<string, PricedOption> {
  const all = new Map<string, PricedOption>()
  for (const [name, { free }] of profiles.flatMap(({ pricedOptions }) => Object.entries(pricedOptions))) {
    const known = all.get(name)?.free ?? []
    all.set(name, free === undefined && known.length === 0 ? {} : { free: [...new Set([...known, ...(free ?? [])])] })
  }
  return all
}

/**
 * The arguments by which a chat template is chosen and applied, which servers let its own options overrule. They may
 * hold code of the client's own (CVE-2025-61620), or a tokenizer that blocks the server (CVE-2025-62426).
 */
const TEMPLATE_CONTROL = new Set(
  [
    ...namesIn(
      'chat_template conversation max_length padding processor_kwargs return_assistant_tokens_mask return_dict',
    ),
    ...namesIn('return_tensors tokenize tokenizer_kwargs tools truncation'),
  ].map(fold),
)

export function policiesFor(
  profile: VendorProfile,
  model: string,
  { allowParameters }: Pick<BackendConfig, 'allowParameters'>,
): ParameterPolicies {
  const { parameters, pricedOptions } = profile
  const chat = parameters.chat(model)
  // Without its list, nobody knows which options the vendor has.
  const priced = chat === undefined ? PRICED_OF_ALL : new Map(Object.entries(pricedOptions))
  const policy = (accepted: ReadonlySet<string> | undefined): ParameterPolicy => {
    const nested = Object.entries(parameters.nested ?? {}).map(([path, names]): [string, MemberRule] => [
      path,
      { accepted: names },
    ])
    return {
      members: new Map<string, MemberRule>([
        ['', { accepted, control: CONTROL_OF_ALL }],
        ['chat_template_kwargs', { control: TEMPLATE_CONTROL }],
        ...nested,
      ]),
      priced,
      allowed: new Set(allowParameters),
    }
  }
  const usual = (names: ReadonlySet<string>) => (chat === undefined ? undefined : names)
  return {
    chat: policy(chat),
    messages: policy(parameters.messages ?? usual(MESSAGES)),
    responses: policy(parameters.responses ?? usual(RESPONSES)),
    embeddings: policy(parameters.embeddings ?? usual(EMBEDDINGS)),
    images: policy(parameters.images ?? usual(IMAGES)),
  }
}

/** The policies of a server without a profile, whose operator allows nothing. */
export const PLAIN_POLICIES = policiesFor(plain, '', { allowParameters: [] })
