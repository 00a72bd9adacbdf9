/** The version of a release has one place, package.json; every other place that must name it is compared with it. */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files beside the packages' own manifests that name the version, and how. */
const PLACES: Record<string, RegExp> = {
  'deploy/chart/Chart.yaml': /^(?:version|appVersion): (\S+)$/gm,
  'deploy/Dockerfile': /^ARG VERSION=(\S+)$/gm,
  'docker-compose.yml': /image: model-gateway\/\w+:(\S+)$/gm,
  // Its newest entry.
  'CHANGELOG.md': /^# [^#]*\n## (\S+)/g,
}

export function versionOf(root: string): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version
}

/** `file: version`, for each place that names another, and each that names none. */
export function differingVersions(root: string): string[] {
  const version = versionOf(root)
  const manifests = globSync('{packages,services}/*/package.json', { cwd: root })
  const named = [
    ...manifests.map((path) => [path, [/"version": "([^"]+)"/.exec(read(root, path))?.[1]]] as const),
    ...Object.entries(PLACES).map(
      ([path, pattern]) => [path, [...read(root, path).matchAll(pattern)].map(([, found]) => found)] as const,
    ),
  ]
  return named.flatMap(([path, versions]) => {
    if (versions.length === 0) return [`${path}: none`]
    return [...new Set(versions)].filter((found) => found !== version).map((found) => `${path}: ${found}`)
  })
}

function read(root: string, path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
