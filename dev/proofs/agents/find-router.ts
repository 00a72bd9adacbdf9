/** Finds the router that holds a connection, by its local port: Linux lists each process' sockets. */

import { readdir, readFile, readlink } from 'node:fs/promises'
import type { Cluster } from '@gateway/cluster/start'

export async function routerAt(cluster: Cluster, port: number): Promise<string> {
  const inode = await inodeOf(port)
  for (const { plan, pid } of cluster.processes)
    if (plan.service === 'router' && pid !== undefined && (await holds(pid, inode))) return plan.name
  throw new Error(`no router holds the connection from port ${port}`)
}

const HEADER_LINES = 1
const LOCAL_ADDRESS = 1
const STATE = 3
const ESTABLISHED = '01'
const INODE = 9

async function inodeOf(port: number): Promise<string> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFile(path, 'utf8')))
  const rows = tables.flatMap((table) => table.split('\n').slice(HEADER_LINES)).map((line) => line.trim().split(/\s+/))
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const row = rows.find((fields) => fields[LOCAL_ADDRESS]?.endsWith(`:${hex}`) && fields[STATE] === ESTABLISHED)
  if (row === undefined) throw new Error(`no connection comes from port ${port}`)
  return row[INODE]!
}

async function holds(pid: number, inode: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder)
  const links = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')))
  return links.includes(`socket:[${inode}]`)
}
