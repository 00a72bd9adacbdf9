/**
 * The sections of the config file for administration: the claims of sign-in tokens that give roles and groups, and the audit log.
 */

import * as z from 'zod'

const claim = z.string().min(1).max(200)

const operatorsConfig = z
  .strictObject({
    /** The claim with a person's roles: a text or a list. `realm_access.roles` names a member of a claim. */
    claim: claim.default('roles'),
    /** The role that sees everything and changes nothing. */
    reader: z.string().min(1).max(200).default('gateway-reader'),
    /** The role that may make every call. */
    owner: z.string().min(1).max(200).default('gateway-owner'),
  })
  .refine(({ reader, owner }) => reader !== owner, { path: ['reader'], message: 'must be another role than owner' })

const signInConfig = z.strictObject({
  /** The claim with a person's groups: a text or a list. */
  groupsClaim: claim.default('groups'),
})

const auditConfig = z.strictObject({
  /** Older rows of the audit log are deleted. */
  retentionDays: z.int().min(1).max(36_500).default(400),
})

export const administrationSections = {
  operators: operatorsConfig.prefault({}),
  signIn: signInConfig.prefault({}),
  audit: auditConfig.prefault({}),
}

export interface AdministrationSettings {
  operators: z.infer<typeof operatorsConfig>
  signIn: z.infer<typeof signInConfig>
  audit: z.infer<typeof auditConfig>
}

/** Of a checked configuration, which a test may have made without these sections. */
export function administrationOf(config: Partial<AdministrationSettings>): AdministrationSettings {
  const { operators, signIn, audit } = { ...DEFAULT_ADMINISTRATION, ...config }
  return { operators, signIn, audit }
}

export const DEFAULT_ADMINISTRATION: AdministrationSettings = z.strictObject(administrationSections).parse({})
