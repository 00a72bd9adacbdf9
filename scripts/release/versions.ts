/**
 * The version of a release has one place, package.json, and the version of a service another: its own package.json. Every
 * other place that must name one of them is compared with it. A changelog begins with the version.
 */

import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'

const NEWEST = /^# [^#]*\n## (\S+)/g
/** Files that name the release's version, and how. */
const PLACES: Record<string, RegExp> = {
  'deploy/chart/Chart.yaml': /^(?:version|appVersion): (\S+)$/gm,
  'deploy/Dockerfile': /^ARG VERSION=(\S+)$/gm,
  'CHANGELOG.md': NEWEST,
}

export function versionOf(root: string): string {
  return readVersion(root, 'package.json')
}

/** The version of the image of a target of `deploy/Dockerfile`: a service's own, or the release's. */
export function versionOfImage(root: string, target: string): string {
  const manifest = `services/${target}/package.json`
  return existsSync(join(root, manifest)) ? readVersion(root, manifest) : versionOf(root)
}

/** `place: version`, for each place that names another, and each that names none. */
export function differingVersions(root: string): string[] {
  const version = versionOf(root)
  const changelogs = globSync('services/*/CHANGELOG.md', { cwd: root })
  const own = new Set(changelogs.map(dirname))
  const manifests = globSync('{packages,services}/*/package.json', { cwd: root }).filter(
    (path) => !own.has(dirname(path)),
  )
  return [
    ...manifests.flatMap((path) => differing(path, [readVersion(root, path)], version)),
    ...Object.entries(PLACES).flatMap(([path, pattern]) => differing(path, named(read(root, path), pattern), version)),
    ...changelogs.flatMap((path) => {
      return differing(path, named(read(root, path), NEWEST), readVersion(root, join(dirname(path), 'package.json')))
    }),
    ...imagesOf(root).flatMap(([place, target, tag]) => differing(place, [tag], versionOfImage(root, target))),
  ]
}

/** Tags of the compose file and of the chart, whose empty tag is the release's. */
function imagesOf(root: string): [place: string, target: string, tag: string][] {
  const compose = [...read(root, 'docker-compose.yml').matchAll(/image: model-gateway\/(\w+):(\S+)$/gm)]
  const chart = parse(read(root, 'deploy/chart/values.yaml')) as Record<string, { image?: { tag?: string } } | null>
  return [
    ...compose.map(([, target, tag]) => [`docker-compose.yml, ${target}`, target!, tag!] as [string, string, string]),
    ...Object.entries(chart).flatMap(([target, values]): [string, string, string][] => {
      const tag = existsSync(join(root, 'services', target)) ? values?.image?.tag : undefined
      return tag === undefined ? [] : [[`deploy/chart/values.yaml, ${target}`, target, tag || versionOf(root)]]
    }),
  ]
}

function named(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, found]) => found!)
}

function differing(place: string, versions: readonly string[], expected: string): string[] {
  if (versions.length === 0) return [`${place}: none`]
  return [...new Set(versions)].filter((found) => found !== expected).map((found) => `${place}: ${found}`)
}

function readVersion(root: string, manifest: string): string {
  return (JSON.parse(read(root, manifest)) as { version: string }).version
}

function read(root: string, path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
