/**
 * The headers by which a client chooses a version of the Messages API and its features. They are an open list. The config's
 * own header wins, but for flags: the target gets both.
 */

import { withoutFlags, type RefusedFeatures } from '../../core/refused-features.ts'

interface Chosen {
  anthropicVersion?: string | undefined
  anthropicBeta?: string | undefined
  anthropicHeaders?: Readonly<Record<string, string>> | undefined
}

/** All headers of a call: those of the config, `ours`, with those of the client, less the flags that the target refuses. */
export function versionHeaders(
  ours: Record<string, string>,
  { anthropicVersion, anthropicBeta, anthropicHeaders }: Chosen,
  refusedFeatures: RefusedFeatures,
): { headers: Record<string, string>; dropped: string[] } {
  const { beta, dropped } = withoutFlags(anthropicBeta, refusedFeatures)
  const features = [ours['anthropic-beta'], beta].filter((feature) => feature !== undefined)
  const headers = {
    ...ours,
    ...(anthropicHeaders && without(anthropicHeaders, ours)),
    ...(anthropicVersion === undefined ? {} : { 'anthropic-version': anthropicVersion }),
    ...(features.length === 0 ? {} : { 'anthropic-beta': features.join(',') }),
  }
  return { headers, dropped }
}

function without(headers: Readonly<Record<string, string>>, ours: Record<string, string>): Record<string, string> {
  const taken = new Set(Object.keys(ours).map((name) => name.toLowerCase()))
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !taken.has(name)))
}
