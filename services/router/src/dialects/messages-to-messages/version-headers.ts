/** The headers by which a client chooses a version of the Messages API and its features. */

interface Chosen {
  anthropicVersion?: string | undefined
  anthropicBeta?: string | undefined
}

/** Beside those of the config, `ours`. */
export function versionHeaders(
  ours: Record<string, string>,
  { anthropicVersion, anthropicBeta }: Chosen,
): Record<string, string> {
  const features = [ours['anthropic-beta'], anthropicBeta].filter((feature) => feature !== undefined)
  return {
    ...(anthropicVersion === undefined ? {} : { 'anthropic-version': anthropicVersion }),
    ...(features.length === 0 ? {} : { 'anthropic-beta': features.join(',') }),
  }
}
