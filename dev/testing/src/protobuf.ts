/**
 * The fields of a protobuf message as the wire has them: numbers and, for each, an integer or bytes.
 */

export interface Field {
  number: number
  value: bigint | Uint8Array
}

/** Throws a RangeError on bytes that are no message. */
export function fieldsOf(message: Uint8Array): Field[] {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength)
  const fields: Field[] = []
  let at = 0

  function varint(): bigint {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }

  function valueOf(wireType: number): bigint | Uint8Array {
    switch (wireType) {
      case 0:
        return varint()
      case 1:
        at += 8
        return view.getBigUint64(at - 8, true)
      case 2: {
        const length = Number(varint())
        at += length
        if (at > message.length) throw new RangeError('a field that is longer than its message')
        return message.subarray(at - length, at)
      }
      case 5:
        at += 4
        return BigInt(view.getUint32(at - 4, true))
      default:
        throw new RangeError(`a field of the unknown wire type ${wireType}`)
    }
  }

  while (at < message.length) {
    const tag = Number(varint())
    fields.push({ number: tag >> 3, value: valueOf(tag & 7) })
  }
  return fields
}
