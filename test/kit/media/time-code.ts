// Time code in a frame: time of day, or number of the frame, as black and white boxes at the bottom: 16 bits followed by their complement.

const bits = 16;
const step = 10;
const top = 0.8;

type Context = Pick<CanvasRenderingContext2D, 'fillStyle' | 'fillRect' | 'getImageData'>;

/** Time of day in units of 10 ms, for a publishing page. */
export function drawCode(context: Context, width: number, height: number, now: number): void {
  drawNumber(context, width, height, Math.floor(now / step));
}

/** The lowest bits of the number of a frame. */
export function drawNumber(context: Context, width: number, height: number, number: number): void {
  const value = number % 2 ** bits;
  const cell = width / bits;
  for (let bit = 0; bit < bits; bit += 1) {
    const white = ((value >> bit) & 1) === 1;
    context.fillStyle = white ? 'white' : 'black';
    context.fillRect(bit * cell, height * top, cell, (height * (1 - top)) / 2);
    context.fillStyle = white ? 'black' : 'white';
    context.fillRect(bit * cell, height * ((1 + top) / 2), cell, (height * (1 - top)) / 2);
  }
}

/** Undefined if the frame has no time code, for example because it is one of several. */
export function readCode(context: Pick<Context, 'getImageData'>, width: number, height: number): number | undefined {
  const cell = width / bits;
  let value = 0;
  for (let bit = 0; bit < bits; bit += 1) {
    const at = (row: number) => context.getImageData(Math.round((bit + 0.5) * cell), Math.round(height * row), 1, 1).data[1] ?? 0;
    const over = at(top + (1 - top) / 4);
    const under = at(top + ((1 - top) * 3) / 4);
    if (Math.abs(over - under) < 120) return undefined;
    if (over > under) value |= 1 << bit;
  }
  return value;
}

/** Milliseconds since the code was drawn. */
export function codeSteps(code: number, now: number): number {
  return ((Math.floor(now / step) - code + 2 ** bits) % 2 ** bits) * step;
}

/** From one code to the next one: negative if that is older. */
export function codeDistance(from: number, to: number): number {
  const distance = (to - from + 2 ** bits) % 2 ** bits;
  return distance < 2 ** (bits - 1) ? distance : distance - 2 ** bits;
}
