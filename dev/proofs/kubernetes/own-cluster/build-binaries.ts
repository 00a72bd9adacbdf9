/**
 * The cluster's programs, built from the Go module proxy: once, and again when `binaries/` changes.
 */

import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { downloadModule, findGo } from '../../engine/go-program.ts'

const SOURCES = join(import.meta.dirname, 'binaries')
/** One file holds them all, and each is a link to it under its own name. */
const LINKS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy']
const COREDNS = { module: 'github.com/coredns/coredns', version: 'v1.12.1' }
const CALICO = 'github.com/projectcalico/calico'
const VERSION_PACKAGE = 'k8s.io/component-base/version'

/** The folder of etcd's and Kubernetes' programs. */
export async function buildKubernetes(cache: string): Promise<string> {
  return fillOnce(join(cache, `kubernetes-${digestOf(SOURCES)}`), 'Kubernetes: some minutes', async (folder) => {
    const version = versionOf(readFileSync(join(SOURCES, 'go.mod'), 'utf8'))
    const [major, minor] = version.slice(1).split('.')
    // Helm refuses a server that does not state its version.
    const variables = { gitVersion: version, gitMajor: major, gitMinor: minor }
    const links = Object.entries(variables).map(([name, value]) => `-X ${VERSION_PACKAGE}.${name}=${value}`)
    const flags = ['-mod=readonly', '-trimpath', '-ldflags', ['-s', '-w', ...links].join(' ')]
    await go(['build', ...flags, '-o', join(folder, 'kubernetes'), '.'])
    for (const program of LINKS) await symlink('kubernetes', join(folder, program))
  })
}

/** The folder of the programs that a node needs besides: `coredns` and `pause`. */
export function buildNodePrograms(cache: string): Promise<string> {
  return fillOnce(join(cache, `coredns@${COREDNS.version}`), 'CoreDNS', async (folder) => {
    const flags = ['-trimpath', '-ldflags', '-s -w']
    const static_ = { CGO_ENABLED: '0' }
    await go(['build', ...flags, '-o', join(folder, 'pause'), './pause'], { environment: static_ })
    // As a part of its own module, whose versions differ from Kubernetes'.
    const sources = join(folder, 'sources')
    await promisify(execFile)('cp', ['--recursive', '--no-preserve=mode', await downloadModule(COREDNS), sources])
    await copyFile(join(SOURCES, 'coredns/main.go'), join(sources, 'main.go'))
    await go(['build', ...flags, '-o', join(folder, 'coredns'), 'main.go'], { environment: static_, cwd: sources })
    await rm(sources, { recursive: true })
  })
}

/** The folder of Calico's programs for a node, and of the kinds that they read from the API server. */
export function buildPolicyEngine(cache: string): Promise<string> {
  const sources = join(SOURCES, 'policies')
  return fillOnce(join(cache, `calico-${digestOf(sources)}`), 'Calico: some minutes', async (folder) => {
    const flags = ['-mod=readonly', '-trimpath', '-ldflags', '-s -w']
    // Without C, it leaves out the filters in eBPF, which nobody needs here.
    const static_ = { CGO_ENABLED: '0' }
    await go(['build', ...flags, '-o', join(folder, 'programs'), '.'], { environment: static_, cwd: sources })
    for (const program of ['felix', 'calico']) await symlink('programs', join(folder, program))
    const module = await promisify(execFile)(findGo(), ['list', '-m', '-f', '{{.Dir}}', CALICO], { cwd: sources })
    const kinds = join(module.stdout.trim(), 'libcalico-go/config/crd')
    await promisify(execFile)('cp', ['--recursive', '--no-preserve=mode', kinds, join(folder, 'definitions')])
  })
}

function digestOf(sources: string): string {
  const texts = ['main.go', 'go.mod', 'go.sum'].map((file) => readFileSync(join(sources, file), 'utf8'))
  return createHash('sha256').update(texts.join('\0')).digest('hex').slice(0, 12)
}

/** Fills the folder where it is not there. */
async function fillOnce(folder: string, name: string, fill: (draft: string) => Promise<void>): Promise<string> {
  if (existsSync(folder)) return folder
  process.stderr.write(`building from the Go module proxy, once: ${name}\n`)
  const draft = `${folder}.new`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true })
  await fill(draft)
  await rename(draft, folder)
  return folder
}

async function go(args: string[], { environment = {}, cwd = SOURCES } = {}): Promise<void> {
  const child = spawn(findGo(), args, { cwd, stdio: 'inherit', env: { ...process.env, ...environment } })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`go ${args[0]} failed; it needs Go 1.24 or later and a module proxy (GOPROXY)`)
}

function versionOf(module: string): string {
  const version = /k8s\.io\/kubernetes (v\S+)/.exec(module)?.[1]
  if (!version) throw new Error('binaries/go.mod requires no k8s.io/kubernetes')
  return version
}
