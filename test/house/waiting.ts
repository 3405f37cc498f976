// Where a test waits with a loop of its own or decides by the clock: found in the syntax, however many lines it takes.
import { parseSync } from 'vite';

const rules = {
  clock: 'compares the clock with an end: wait with eventually(), or go on for a while with keepDoing() (test/kit)',
  again: 'asks again and again: eventually() does, woken by an event where there is one (test/kit)',
  turns: 'lets what is ready run: turns() does (test/kit)',
  elapsed: 'judges how long something took: assertPrompt() names the promise, and its bound is five times that (test/kit)',
};

type Node = { type: string; start: number; end: number };
type Child = 'left' | 'right' | 'test' | 'update' | 'body' | 'argument' | 'callee' | 'id' | 'init' | 'expression';
type Parts = Node & { [Name in Child]?: Node | null } & { operator?: string; expressions?: Node[] };
type Stray = { at: number; end: number; rule: keyof typeof rules };

const now = /^(?:Date|performance)\.now\(\)$/;
const loop = /^(?:While|DoWhile|For|ForOf)Statement$/;
const sleep = /^(?:(?:sleep|wait|delay|pause|setTimeout|setImmediate)\(|Promise\.resolve\(\)|new Promise\b.*\bset(?:Timeout|Immediate)\b)/s;
const event = /^(?:once\(|turns\(|new Promise\b|Promise\.\w+\(\[once\()/;
const length = /^(?:took|elapsed|passed|lasted|waited)$/;
const codeInText = /\b(?:while|for) \(|\.now\(\)/;

/** @returns each as `path:line rule: text` */
export function strays(path: string, text: string): string[] {
  return straysOf(text).map(({ at, end, rule }) => {
    const line = text.slice(0, at).split('\n').length;
    return `${path}:${line} ${rules[rule]}: ${text.slice(at, end).replaceAll(/\s+/g, ' ').slice(0, 120)}`;
  });
}

function straysOf(text: string): Stray[] {
  const { program, errors } = parseSync('test.ts', text, { lang: 'ts' });
  if (errors[0]) throw new SyntaxError(errors[0].message);
  const source = (node: Node | null | undefined) => (node ? text.slice(node.start, node.end) : '');
  const readsClock = (node: Node) => has(node, (each) => each.type === 'CallExpression' && now.test(source(each)));
  /** Names of what has been measured, and of what measures. */
  const measured = new Set<string>();
  visit(program as Node, ({ type, id, init }) => {
    if (type !== 'VariableDeclarator' || !init) return;
    const { operator, left } = init as Parts;
    if (source(init) === 'stopwatch()' || (operator === '-' && left && readsClock(left))) measured.add(source(id));
  });
  const isLength = (node: Node) => {
    const name = source(node).replace(/\(\)$/, '').split('.').at(-1) ?? '';
    return measured.has(name) || length.test(name);
  };
  const awaits = (node: Node | null | undefined, what: RegExp) =>
    Boolean(node) && has(node as Node, ({ type, argument }) => type === 'AwaitExpression' && what.test(source(argument)));
  const found: Stray[] = [];
  visit(program as Node, (node) => {
    const { type, test, update, body, callee } = node;
    const stray = (rule: Stray['rule']) => found.push({ at: node.start, end: node.end, rule });
    if (isComparison(node) && readsClock(node)) stray('clock');
    if (type === 'CallExpression' && /^assert\b/.test(source(callee)) && has(node, (each) => isBelow(each, isLength))) stray('elapsed');
    if (loop.test(type)) {
      const statements = statementsOf(body as Node);
      const onlyWaits = statements.length === 1;
      if (onlyWaits && test && isCount(test) && /\bsetImmediate\b/.test(source(body))) stray('turns');
      else if (type !== 'ForOfStatement' && !isService(source(test)) && !(test && isCount(test) && !leaves(body as Node))) {
        const asks = [test, update, body].some((each) => awaits(each, sleep));
        // What does other things as well, or goes on behind the event, does more than wait.
        const isWoken = awaits(update, event) || ((onlyWaits || update === null) && awaits(statements.at(-1), event));
        if (asks || isWoken) stray('again');
      }
    }
    // The code of a page is text.
    if ((type === 'TemplateLiteral' || type === 'Literal') && codeInText.test(source(node)))
      for (const { at, end, rule } of straysInText(node, text)) found.push({ at: node.start + 1 + at, end: node.start + 1 + end, rule });
  });
  return found;
}

function isComparison({ type, operator = '' }: Parts): boolean {
  return type === 'BinaryExpression' && /^[<>]=?$/.test(operator);
}

/** An upper bound of what `matches`. */
function isBelow(node: Parts, matches: (node: Node) => boolean): boolean {
  const bounded = node.operator?.startsWith('<') ? node.left : node.right;
  return isComparison(node) && Boolean(bounded && matches(bounded));
}

/** `index < count`, and nothing else that could end the loop. */
function isCount(node: Parts): boolean {
  return isComparison(node) && node.left?.type === 'Identifier' && node.right?.type !== 'CallExpression';
}

/** What goes on until it is told to end waits for nothing. */
function isService(test: string): boolean {
  return /(?:^|&& )!(?:\w+\.)+#?(?:aborted|closed)$/.test(test);
}

function leaves(body: Node): boolean {
  return has(body, ({ type }) => type === 'BreakStatement' || type === 'ReturnStatement');
}

function statementsOf(body: Node): Node[] {
  return body.type === 'BlockStatement' ? (body as Node & { body: Node[] }).body : [body];
}

/** Of what a template or string says; what is put in is a number. What is no code has none. */
function straysInText(node: Parts, text: string): Stray[] {
  let code = text.slice(node.start + 1, node.end - 1);
  for (const { start, end } of node.expressions ?? []) {
    // With its `${` and `}`.
    const [from, to] = [start - node.start - 3, end - node.start];
    code = `${code.slice(0, from)}${'0'.padEnd(to - from)}${code.slice(to)}`;
  }
  try {
    return straysOf(code);
  } catch {
    return [];
  }
}

/** Of a node and what is in it, functions within left out. */
function has(node: Node, matches: (node: Parts) => boolean): boolean {
  let found = false;
  visit(node, (each) => {
    found ||= matches(each);
    return !found && (each === node || !each.type.includes('Function'));
  });
  return found;
}

/** @param act false: not what is inside */
function visit(node: Node, act: (node: Parts) => unknown): void {
  if (act(node) === false) return;
  for (const value of Object.values(node) as unknown[])
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, act);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
