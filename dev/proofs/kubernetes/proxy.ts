/** For Node in a pod: passes each connection on to the gateway, and an end of either side to the other. */

export function proxyProgram(gateway: { host: string; port: number }, listenPort: number): string {
  return `const { connect, createServer } = require('node:net')
createServer((client) => {
  const gateway = connect(${JSON.stringify(gateway)})
  client.on('error', () => {}).on('close', () => gateway.destroy()).pipe(gateway)
  gateway.on('error', () => client.destroy()).pipe(client)
}).listen(${listenPort}, '0.0.0.0', () => console.log('listening'))
process.on('SIGTERM', () => process.exit())`
}
