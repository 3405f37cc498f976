// Phone: calls of a SIP component; dial, send DTMF, hang up.
import { type FormEvent, useState } from 'react';
import type { Call, Component } from '../../../../server-sdk/src/generated/schemas.ts';
import type { OperationRequest } from '../../api/operation-request.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { Badge } from '../../components/page-title.tsx';
import { useSessionContext } from '../../hooks/console-context.ts';
import type { Action } from '../../hooks/use-action.ts';
import { UserText } from '../peers/names.tsx';
import type { LiveRoom } from '../use-room.ts';
import { callsOf } from './phone-calls.ts';
import { RequestButton } from './request-button.tsx';

type PhoneProps = { component: Component; live: LiveRoom; action: Action };

const states: Record<Call['state'], string> = { calling: 'Calling…', ringing: 'Ringing…', active: 'In call' };

export function Phone({ component, live, action }: PhoneProps) {
  const { registered, registrationError } = component.properties;
  return (
    <div className="phone">
      {!registered && (
        <p className="note" data-testid="registration">
          {registrationError ? (
            <UserText>{`Not registered: ${String(registrationError)}`}</UserText>
          ) : (
            'Registering… Calls are not possible yet.'
          )}
        </p>
      )}
      {callsOf(component.properties).map((call) => (
        <Line key={call.id} component={component} call={call} live={live} action={action} />
      ))}
      <OneLineForm
        label="Phone number"
        placeholder="+49 30 … without spaces"
        button="Call"
        testId="phone-number"
        action={action}
        live={live}
        requestOf={(number) => live.requests.dial(component.id, number)}
      />
    </div>
  );
}

function Line({ component, call, live, action }: PhoneProps & { call: Call }) {
  return (
    <div className="phone-line" data-testid="phone-call" data-state={call.state}>
      <p>
        <UserText>{call.phoneNumber}</UserText> <Badge tone={call.state === 'active' ? 'good' : 'neutral'}>{states[call.state]}</Badge>
      </p>
      <RequestButton
        request={live.requests.hangUp(component.id, call.id)}
        what={`hang up ${call.phoneNumber}`}
        action={action}
        onDone={live.refresh}
        className="button small danger-quiet"
        testId="hang-up"
      >
        Hang up
      </RequestButton>
      {call.state === 'active' && (
        <OneLineForm
          label="Send DTMF"
          placeholder="12#"
          button="Send"
          testId="digits"
          action={action}
          live={live}
          requestOf={(digits) => live.requests.press(component.id, call.id, digits)}
        />
      )}
    </div>
  );
}

type OneLineFormProps = {
  label: string;
  placeholder: string;
  button: string;
  testId: string;
  action: Action;
  live: LiveRoom;
  requestOf: (text: string) => OperationRequest;
};

function OneLineForm({ label, placeholder, button, testId, action, live, requestOf }: OneLineFormProps) {
  const { api } = useSessionContext();
  const [text, setText] = useState('');
  const request = requestOf(text.trim());
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    // Text that was typed meanwhile belongs to the next request.
    if (await action.run(() => api.send(request))) setText((now) => (now === text ? '' : now));
    live.refresh();
  };
  return (
    <form className="one-line" onSubmit={submit} noValidate>
      <input
        className="filter"
        aria-label={label}
        placeholder={placeholder}
        autoComplete="off"
        data-testid={testId}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <ActionButton type="submit" className="button" data-testid={`${testId}-send`} disabled={action.busy}>
        {button}
      </ActionButton>
      <CopyCurl request={request} what={button.toLowerCase()} compact />
    </form>
  );
}
