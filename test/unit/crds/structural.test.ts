// Conversion of zod schemas to structural schemas of Kubernetes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { matches } from '../../../api/core/kube.ts';
import { embeddedKubernetesType, integer, limitedText, listMap, quantity, withRules } from '../../../crds/schema.ts';
import { defaultOf, describeBounds, type Json, kubernetesJson, structural, withBoundsInDescription } from '../../../crds/structural.ts';
import { fieldsOf } from '../../kit/fields.ts';

const structuralOf = (schema: z.ZodType) => structural(kubernetesJson(schema));

describe('structural()', () => {
  it('keeps types, bounds, defaults and required fields, without $schema, and without additionalProperties next to properties', () => {
    assert.deepEqual(structuralOf(z.object({ one: integer(1, 5).default(2), two: z.string().max(3) })), {
      type: 'object',
      properties: { one: { type: 'integer', format: 'int64', minimum: 1, maximum: 5, default: 2 }, two: { type: 'string', maxLength: 3 } },
      required: ['two'],
    });
  });

  it('marks a union with null as nullable and keeps the outer description', () => {
    assert.deepEqual(structuralOf(integer(1, 5).nullable().optional().meta({ description: 'Text.' })), {
      type: 'integer',
      format: 'int64',
      minimum: 1,
      maximum: 5,
      nullable: true,
      description: 'Text.',
    });
  });

  it('rejects every other union, because a CRD has no unions', () => {
    assert.throws(() => structuralOf(z.union([z.string(), z.boolean()])), /no unions/);
    assert.throws(() => structuralOf(z.union([z.string(), z.boolean(), z.null()])), /no unions/);
  });

  it('turns a record into a map of its values, at every depth', () => {
    assert.deepEqual(structuralOf(z.record(z.string().max(3), z.array(integer(0, 1)))), {
      type: 'object',
      additionalProperties: { type: 'array', items: { type: 'integer', format: 'int64', minimum: 0, maximum: 1 } },
    });
  });

  it('preserves embedded Kubernetes objects and quantities', () => {
    assert.deepEqual(structuralOf(embeddedKubernetesType('Text.')), {
      type: 'object',
      description: 'Text.',
      'x-kubernetes-preserve-unknown-fields': true,
    });
    const { 'x-kubernetes-validations': rules, ...rest } = structuralOf(quantity);
    assert.deepEqual(rest, { 'x-kubernetes-int-or-string': true });
    assert.equal((rules as unknown[]).length, 1);
  });

  it('keeps rules and the type of lists', () => {
    const list = withRules(listMap('name', z.array(z.object({ name: z.string() }))), { rule: 'true', message: 'must be true' });
    const { items: _, ...rest } = structuralOf(list);
    assert.deepEqual(rest, {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-validations': [{ rule: 'true', message: 'must be true' }],
    });
  });
});

describe('limitedText()', () => {
  const word = limitedText(8, /^https?:\/\/[a-z]+$/, 'must be a word');

  it('validates its form by a rule with a message instead of a pattern, and bounds its length', () => {
    assert.deepEqual(structuralOf(word), {
      type: 'string',
      maxLength: 8,
      'x-kubernetes-validations': [{ rule: "self.matches(r'^https?://[a-z]+$')", message: 'must be a word' }],
    });
  });

  it('checks the same in zod', () => {
    assert.ok(word.safeParse('http://a').success);
    assert.equal(word.safeParse('ftp://a').error?.issues[0]?.message, 'must be a word');
  });

  it('adds further rules after its own', () => {
    const rules = structuralOf(withRules(word, { rule: 'true', message: 'more' }))['x-kubernetes-validations'] as { message: string }[];
    assert.deepEqual(fieldsOf(rules, 'message'), ['must be a word', 'more']);
  });

  it('escapes a quote in a pattern, because it would end the string in CEL', () => {
    assert.equal(matches(/'/, 'x').rule, "self.matches(r'\\x27')");
  });
});

describe('withBoundsInDescription()', () => {
  it('puts bounds and defaults into descriptions, for kubectl explain', () => {
    const schema = structuralOf(
      z.object({
        count: integer(1, 5).default(2).meta({ description: 'How many.' }),
        names: z
          .array(z.string().max(9).meta({ description: 'A name.' }))
          .max(3)
          .meta({ description: 'All.' }),
        mode: z.enum(['a', 'b']).default('a').meta({ description: 'Which.' }),
        none: z.string().meta({ description: 'Plain.' }),
      }),
    );
    const { count, names, mode, none } = withBoundsInDescription(schema).properties as Record<string, Json>;
    assert.deepEqual(
      [count?.description, names?.description, mode?.description, none?.description],
      ['How many (1 to 5; default 2).', 'All (at most 3 items).', 'Which (default a).', 'Plain.'],
    );
  });

  it('adds no description to a field without one', () => {
    assert.equal(withBoundsInDescription({ type: 'integer', minimum: 1, maximum: 2 }).description, undefined);
  });
});

describe('describeBounds() and defaultOf()', () => {
  it('name each type of bound and omit those without an effect', () => {
    assert.equal(describeBounds({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), undefined);
    assert.equal(describeBounds({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), 'at least 1');
    assert.equal(describeBounds({ type: 'array', minItems: 1, maxItems: 8 }), '1 to 8 items');
    assert.equal(describeBounds({ type: 'object', maxProperties: 4 }), 'at most 4 entries');
    assert.equal(describeBounds({ type: 'string', enum: ['a'], maxLength: 3 }), undefined);
    assert.equal(defaultOf({ default: false }), 'false');
    assert.equal(defaultOf({ default: {} }), undefined);
  });
});
